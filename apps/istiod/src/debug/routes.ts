import type { Problem } from "@istiod/config-ingestion";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { XdsServer } from "@istiod/xds-server";
import type { IncomingMessage, ServerResponse } from "node:http";
import { explainProxy } from "../explain-proxy.js";
import { type Route, writeJson } from "../http-server.js";
import { readProxy } from "../mesh-source.js";
import { type ChangeCommandsOptions, changeCommands } from "./change-commands.js";
import { type DebugAnswer, type DebugCommand, refuse } from "./command.js";
import { type MeshCommandsOptions, meshCommands } from "./mesh-commands.js";
import { profileCommands } from "./profile.js";
import { ofProxy, type StreamCommandsOptions, streamCommands } from "./stream-commands.js";

export interface DebugOptions extends StreamCommandsOptions, MeshCommandsOptions, ChangeCommandsOptions {
  /** The namespace to whose proxies a caller is confined, if any. */
  readonly namespaceOf: (request: IncomingMessage) => string | undefined;
}

/** Everything that is answered below `/debug`. */
export function debugCommands(options: DebugOptions): readonly DebugCommand[] {
  return [
    ...streamCommands(options),
    ...meshCommands(options),
    ...changeCommands(options),
    explainCommand(options.database, options.server, options.problems),
    ...profileCommands(options.env["ENABLE_PROFILING"] !== "false"),
  ];
}

/** The commands as routes, with an index for people and a list for programs. */
export function debugRoutes(commands: readonly DebugCommand[], namespaceOf: DebugOptions["namespaceOf"]): Map<string, Route> {
  const routes = new Map<string, Route>();
  for (const { name, answer } of commands) {
    routes.set(`/debug/${name}`, async ({ url, http }, response) => write(url, response, await answer({ query: url.searchParams, namespace: namespaceOf(http) })));
  }
  routes.set("/debug/list", ({ url }, response) => writeJson(url, response, commands.map(({ name }) => `debug/${name}`)));
  routes.set("/debug", (_, response) => {
    const rows = commands.map(({ name, about }) => `<tr><td><a href="/debug/${name}">${name}</a></td><td>${about}</td></tr>`).join("\n");
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(`<!doctype html>\n<title>istiod debug</title>\n<table>\n${rows}\n</table>\n`);
  });
  return routes;
}

function write(url: URL, response: ServerResponse, answer: DebugAnswer): void {
  if ("json" in answer) writeJson(url, response, answer.json);
  else response.writeHead(answer.status, { "content-type": answer.contentType ?? "text/plain; charset=utf-8" }).end(answer.text);
}

function explainCommand(database: Database<Proxy>, server: XdsServer, problems: () => readonly Problem[]): DebugCommand {
  return {
    name: "explain",
    about: "What a proxy's resources are made from, by ?proxyID=, and &resource=, &type=, &tries=",
    answer: (request) =>
      ofProxy(server, request, ({ node }) => {
        const of = (name: string): string | undefined => request.query.get(name) ?? undefined;
        try {
          return { json: explainProxy(database, readProxy(node), problems(), { resource: of("resource"), type: of("type"), tries: of("tries") }) };
        } catch (error) {
          return refuse(400, (error as Error).message);
        }
      }),
  };
}
