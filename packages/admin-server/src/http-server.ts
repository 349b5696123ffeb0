import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { createAdminServer, createSecureAdminServer, type HttpLimits } from "./admin-server.js";
import { listenBacklog, listenHost, reasonOf } from "@istiod/runtime";

/** A host and port to listen on. Default host: all addresses. */
export interface HttpAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/** Answers one path. */
export type Route = (
  request: { readonly url: URL; readonly http: IncomingMessage },
  response: ServerResponse,
) => void | Promise<void>;

/** The reason for rejecting a request. */
export interface Refusal {
  /** An HTTP status. */
  readonly status: number;
  readonly message: string;
}

/** Returns the reason for rejecting a request; undefined if it is allowed. */
export type Guard = (request: IncomingMessage, path: string) => Refusal | undefined | Promise<Refusal | undefined>;

/** The routes of a server by path, and the guard in front of them. */
export interface Site {
  readonly routes: ReadonlyMap<string, Route>;
  /** Routes of all paths that begin with `/name/`, by `/name/`. Default: none. */
  readonly subtrees?: ReadonlyMap<string, Route>;
  readonly guard: Guard;
}

/** An HTTP server of a site that can be replaced while it listens. */
export class HttpServer {
  readonly #server: Server | SecureServer;
  readonly #unanswered = new Set<ServerResponse>();
  #site: Site;
  #isDraining = false;

  private constructor(site: Site, tls: SecureContextOptions | undefined, limits: HttpLimits) {
    this.#site = site;
    const listener: RequestListener = (request, response) => {
      this.#unanswered.add(response);
      response.once("close", () => this.#unanswered.delete(response));
      if (this.#isDraining) closeAfter(response);
      void answer(this.#site, request, response).catch((error: unknown) => {
        if (!response.headersSent) response.writeHead(500, { "content-type": "text/plain" });
        response.end(`${reasonOf(error)}\n`);
      });
    };
    this.#server =
      tls === undefined ? createAdminServer(listener, limits) : createSecureAdminServer(listener, tls, limits);
  }

  /**
   * Resolves when the server listens. Rejects with the system's error if it cannot.
   *
   * @param tls default: plaintext
   */
  static async listen(
    { host, port }: HttpAddress,
    site: Site,
    tls?: SecureContextOptions,
    limits: HttpLimits = {},
  ): Promise<HttpServer> {
    const server = new HttpServer(site, tls, limits);
    const address = await listenHost(host);
    await new Promise<void>((resolve, reject) => {
      server.#server.once("error", reject);
      server.#server.listen({ port, host: address, backlog: listenBacklog }, resolve);
    });
    return server;
  }

  /** The address that the server listens on. */
  get address(): { readonly host: string; readonly port: number } {
    const { address, port } = this.#server.address() as AddressInfo;
    return { host: address, port };
  }

  /** Answers requests from now on by another site. */
  serve(site: Site): void {
    this.#site = site;
  }

  /** Replaces the certificate of a server with TLS, for new connections. */
  renew(tls: SecureContextOptions): void {
    if ("setSecureContext" in this.#server) this.#server.setSecureContext(tls);
  }

  /** Closes each connection after its next answer from now on. New connections are still accepted. */
  drain(): void {
    this.#isDraining = true;
    for (const response of this.#unanswered) closeAfter(response);
  }

  /** Stops listening, and closes all connections: at once, or those with requests when these are answered. */
  async close({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.drain();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const late = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(late);
  }
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("connection", "close");
}

async function answer(
  { routes, subtrees, guard }: Site,
  http: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = requestUrl(http.url ?? "/");
  const path = url?.pathname ?? "";
  const clean = path.replace(/\/{2,}/g, "/");
  // As Go's ServeMux: `istioctl version` asks for //version.
  if (clean !== path && routes.has(clean)) {
    response.writeHead(307, { location: `${clean}${url?.search ?? ""}` }).end();
    return;
  }
  const route = routes.get(path) ?? subtrees?.get(path.slice(0, path.indexOf("/", 1) + 1));
  if (url === undefined || route === undefined) {
    response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found\n");
    return;
  }
  const refusal = await guard(http, url.pathname);
  if (refusal !== undefined) {
    response.writeHead(refusal.status, { "content-type": "text/plain" }).end(`${refusal.message}\n`);
    return;
  }
  await route({ url, http }, response);
}

/**
 * Returns the URL of a request target. A path that begins with `//` is a path and names no host. Undefined if the
 * target is neither a path nor a URL, such as `*`.
 */
function requestUrl(target: string): URL | undefined {
  const url = target.startsWith("/") ? `http://localhost${target}` : target;
  return URL.canParse(url) ? new URL(url) : undefined;
}

/** Writes a value as JSON, indented if the query has `pretty`. */
export function writeJson(url: URL, response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(`${JSON.stringify(value, undefined, url.searchParams.has("pretty") ? 4 : undefined)}\n`);
}
