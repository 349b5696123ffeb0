import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createAdminServer, crossSiteReason, readBody } from "@istiod/admin-server";
import { isLoopback } from "@istiod/peer-address";
import { listenHost, reasonOf } from "@istiod/runtime";
import { type Level, levels } from "./levels.js";
import type { LogScopes, Scope } from "./log-scopes.js";

/** The JSON form of a log scope in ControlZ. Source: pkg/ctrlz/topics/scopes.go. */
interface ScopeInfo {
  readonly name: string;
  readonly description: string;
  readonly output_level: string;
  readonly stack_trace_level: string;
  readonly log_callers: boolean;
}

const maxBodyBytes = 64 * 1024;

/**
 * Serves the part of Istio's ControlZ that switches logs while a program runs, which is what `istioctl admin log` asks
 * for: `GET /scopej/`, `GET /scopej/<scope>` and `PUT /scopej/<scope>`. Answers callers of this machine only, wherever
 * it listens, because requests are not authenticated.
 *
 * @throws Error where it cannot listen.
 */
export async function serveControlZ(
  { address, port }: { readonly address: string; readonly port: number },
  scopes: LogScopes,
): Promise<Server> {
  const server = createAdminServer((request, response) => {
    void answer(scopes, request, response).catch((error: unknown) => reject(response, 400, reasonOf(error)));
  });
  const host = await listenHost(address === "*" ? undefined : address);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return server.unref();
}

async function answer(scopes: LogScopes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!isLoopback(request.socket.remoteAddress))
    return reject(response, 403, "only requests from this machine are allowed");
  const crossSite = crossSiteReason(request);
  if (crossSite !== undefined) return reject(response, 403, crossSite);
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  if (pathname === "/scopej") return void response.writeHead(301, { location: "/scopej/" }).end();
  const [, encoded] = /^\/scopej\/([^/]*)$/.exec(pathname) ?? [];
  if (encoded === undefined) return reject(response, 404, "404 page not found");
  const name = decodeURIComponent(encoded);
  const { method } = request;
  if (method !== "GET" && !(method === "PUT" && name !== "")) return reject(response, 405, "method not allowed");
  if (name === "") return write(response, scopes.list().map(info));
  const scope = scopes.get(name);
  if (scope === undefined) return reject(response, 400, `unknown scope name: ${name}`);
  if (method === "GET") return write(response, info(scope));
  const told = JSON.parse((await readBody(request, maxBodyBytes)).toString()) as Partial<ScopeInfo>;
  const [output, stackTrace] = [levelNamed(told.output_level), levelNamed(told.stack_trace_level)];
  // Istio takes absent callers for none, too: what clients send is what they want.
  scopes.set(name, {
    ...(output && { output }),
    ...(stackTrace && { stackTrace }),
    callers: told.log_callers === true,
  });
  response.writeHead(202).end();
}

function info({ name, description, output, stackTrace, callers }: Scope): ScopeInfo {
  return { name, description, output_level: output, stack_trace_level: stackTrace, log_callers: callers };
}

/** A level by its name; what is none is left as it is. */
function levelNamed(name: unknown): Level | undefined {
  return levels.find((level) => level === name);
}

function write(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json; charset=utf-8" }).end(`${JSON.stringify(value)}\n`);
}

function reject(response: ServerResponse, status: number, text: string): void {
  if (!response.headersSent) response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  response.end(text);
}
