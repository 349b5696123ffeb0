import { createRegistry, type Registry } from "@bufbuild/protobuf";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import { registry as envoy } from "@istiod/envoy-api/registry";
import type { Database } from "@istiod/incremental";
import { registry as istio } from "@istiod/istio-api/registry";
import type { Proxy } from "@istiod/push-context";
import type { XdsServer } from "@istiod/xds-server";
import type { ServerResponse } from "node:http";
import { type Route, writeJson } from "../http-server.js";
import { registeredServices } from "./registry.js";
import { configDump, connectionOf, connections, syncz } from "./xds-state.js";

export interface DebugOptions {
  readonly database: Database<Proxy>;
  readonly server: XdsServer;
  readonly proxyOf: (nodeId: string) => Proxy | undefined;
}

/** What `/debug` answers, by path, each with a sentence for the list. */
export function debugRoutes({ database, server, proxyOf }: DebugOptions): Map<string, Route> {
  let messages: Registry | undefined;
  const table: [name: string, about: string, route: Route][] = [
    ["syncz", "Synchronization status of all proxies connected to this istiod", ({ url }, response) => writeJson(url, response, syncz(server, proxyOf, url.searchParams.get("namespace")))],
    ["connections", "Proxies connected to this istiod", ({ url }, response) => writeJson(url, response, connections(server))],
    ["registryz", "Services that this istiod knows", ({ url }, response) => writeJson(url, response, registeredServices(database))],
    [
      "config_dump",
      "Configuration of a proxy as it was last sent, by ?proxyID=",
      ({ url }, response) => {
        const connection = known(server, url, response);
        if (connection) writeJson(url, response, configDump(connection, (messages ??= everyMessage()), url.searchParams.has("include_eds")));
      },
    ],
    ["statz", "Counters of the incremental engine", ({ url }, response) => writeJson(url, response, database.stats())],
  ];
  const routes = new Map(table.map(([name, , route]) => [`/debug/${name}`, route]));
  routes.set("/debug/list", ({ url }, response) => writeJson(url, response, table.map(([name]) => `debug/${name}`)));
  routes.set("/debug", (_, response) => {
    const rows = table.map(([name, about]) => `<tr><td><a href="/debug/${name}">${name}</a></td><td>${about}</td></tr>`).join("\n");
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(`<!doctype html>\n<title>istiod debug</title>\n<table>\n${rows}\n</table>\n`);
  });
  return routes;
}

function known(server: XdsServer, url: URL, response: ServerResponse): ReturnType<typeof connectionOf> {
  const id = url.searchParams.get("proxyID");
  const connection = id ? connectionOf(server, id) : undefined;
  if (connection) return connection;
  const message = id ? "Proxy not connected to this Pilot instance. It may be connected to another instance." : "You must provide a proxyID in the query string";
  response.writeHead(id ? 404 : 400, { "content-type": "text/plain" }).end(`${message}\n`);
  return undefined;
}

function everyMessage(): Registry {
  return createRegistry(...envoy, ...istio, ...Object.values(wellKnown).filter((v) => typeof v === "object" && "kind" in v && v.kind === "message"));
}
