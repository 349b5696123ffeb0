import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { ListenAddress } from "./flags.js";

/** Answers one path. */
export type Route = (
  request: { readonly url: URL; readonly http: IncomingMessage },
  response: ServerResponse,
) => void | Promise<void>;

/** Why a request is not answered. */
export interface Refusal {
  /** An HTTP status. */
  readonly status: number;
  readonly message: string;
}

/** Whether a request may be answered; where not, the reason. */
export type Guard = (request: IncomingMessage, path: string) => Refusal | undefined | Promise<Refusal | undefined>;

/** Serves a table of paths; a path that ends in `/` answers everything below it. */
export async function serveHttp(at: ListenAddress, routes: ReadonlyMap<string, Route>, guard: Guard): Promise<Server> {
  const server = createServer((http, response) => {
    void answer(routes, guard, http, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { "content-type": "text/plain" });
      response.end(`${error instanceof Error ? error.message : String(error)}\n`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at.port, at.host, () => resolve());
  });
  return server;
}

async function answer(
  routes: ReadonlyMap<string, Route>,
  guard: Guard,
  http: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(http.url ?? "/", "http://localhost");
  const route = routes.get(url.pathname);
  if (!route) {
    response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found\n");
    return;
  }
  const refused = await guard(http, url.pathname);
  if (refused !== undefined) {
    response.writeHead(refused.status, { "content-type": "text/plain" }).end(`${refused.message}\n`);
    return;
  }
  await route({ url, http }, response);
}

/** Writes a value as JSON, indented where the query says `pretty`. */
export function writeJson(url: URL, response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(`${JSON.stringify(value, undefined, url.searchParams.has("pretty") ? 4 : undefined)}\n`);
}
