import type { Problem } from "@istiod/config-ingestion";
import { messageRegistry } from "@istiod/explain";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { XdsServer } from "@istiod/xds-server";
import type { ServerResponse } from "node:http";
import { explainProxy } from "../explain-proxy.js";
import { type Route, writeJson } from "../http-server.js";
import { readProxy } from "../mesh-source.js";
import { registeredServices } from "./registry.js";
import { configDump, connectionOf, connections, syncz } from "./xds-state.js";

export interface DebugOptions {
  readonly database: Database<Proxy>;
  readonly server: XdsServer;
  /** What is wrong at present in the sources. */
  readonly problems: () => readonly Problem[];
}

/** What `/debug` answers, by path, each with a sentence for the list. */
export function debugRoutes({ database, server, problems }: DebugOptions): Map<string, Route> {
  const proxyOf = (nodeId: string): Proxy | undefined => {
    const connection = connectionOf(server, nodeId);
    return connection && readProxy(connection.node);
  };
  const table: [name: string, about: string, route: Route][] = [
    ["syncz", "Synchronization status of all proxies connected to this istiod", ({ url }, response) => writeJson(url, response, syncz(server, proxyOf, url.searchParams.get("namespace")))],
    ["connections", "Proxies connected to this istiod", ({ url }, response) => writeJson(url, response, connections(server))],
    ["registryz", "Services that this istiod knows", ({ url }, response) => writeJson(url, response, registeredServices(database))],
    [
      "config_dump",
      "Configuration of a proxy as it was last sent, by ?proxyID=",
      ({ url }, response) => {
        const connection = known(server, url, response);
        if (connection) writeJson(url, response, configDump(connection, messageRegistry(), url.searchParams.has("include_eds")));
      },
    ],
    [
      "explain",
      "What a proxy's resources are made from, by ?proxyID=, and &resource=, &type=, &tries=",
      ({ url }, response) => {
        const connection = known(server, url, response);
        if (!connection) return;
        const of = (name: string): string | undefined => url.searchParams.get(name) ?? undefined;
        const request = { resource: of("resource"), type: of("type"), tries: of("tries") };
        writeJson(url, response, explainProxy(database, readProxy(connection.node), problems(), request));
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
