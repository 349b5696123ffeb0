import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
} from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/** A request as an application received it. */
export interface Seen {
  /** Name of the workload that received it. */
  readonly workload: string;
  readonly version: string;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The caller's SPIFFE identity, as the proxy in front of the application verified it. */
  readonly peer: string;
  /** Source address of the connection. */
  readonly from: string;
}

/**
 * Returns the response to a request. Default: status 200 without delay.
 *
 * @param times number of earlier requests
 */
export type Answer = (
  seen: Seen,
  times: number,
) =>
  | {
      readonly status?: number;
      readonly afterMs?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly reset?: boolean;
    }
  | undefined;

/** A server's certificate and key. */
export interface ApplicationTls {
  readonly key: string;
  readonly cert: string;
  /** Roots of the certificates that clients need. Default: they need none. */
  readonly clientRoots?: string;
}

export interface ApplicationOptions {
  readonly name: string;
  readonly version?: string;
  readonly address: string;
  readonly port: number;
  readonly answer?: Answer;
  readonly tls?: ApplicationTls;
  /** Serves HTTP/2 without TLS to clients with prior knowledge, and no HTTP/1. */
  readonly http2?: boolean;
}

/** A running application. It responds with the request as JSON, and records it. */
export interface Application {
  readonly seen: readonly Seen[];
  close(): Promise<void>;
}

/** Starts an application. @throws Error if its port is in use */
export async function startApplication(options: ApplicationOptions): Promise<Application> {
  const { address, port, answer, tls, http2 = false } = options;
  const all: Seen[] = [];
  const respond: RequestListener = (incoming, response) => {
    void (async () => {
      incoming.resume();
      const seen = see(incoming, options);
      const { status = 200, afterMs = 0, headers = {}, reset = false } = answer?.(seen, all.length) ?? {};
      all.push(seen);
      if (reset) return void incoming.socket.destroy();
      if (afterMs > 0) await sleep(afterMs);
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(seen));
    })();
  };
  const server = serverFor(respond, tls, http2);
  const sockets = new Set<Duplex>();
  server.on("connection", (socket: Duplex) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, () => resolve());
  });
  return {
    seen: all,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      return closed;
    },
  };
}

function serverFor(respond: RequestListener, tls: ApplicationOptions["tls"], http2: boolean): NetServer {
  // Requests and responses of HTTP/2 have the interface of HTTP/1's.
  if (http2) return createHttp2Server().on("request", respond as unknown as () => void);
  if (tls === undefined) return createHttpServer(respond);
  const { clientRoots, ...own } = tls;
  const mutual = clientRoots === undefined ? {} : { ca: clientRoots, requestCert: true, rejectUnauthorized: true };
  return createHttpsServer({ ...own, ...mutual }, respond);
}

function see(
  { method = "", url = "", headers, socket }: IncomingMessage,
  { name, version = "" }: ApplicationOptions,
): Seen {
  const certificates = headers["x-forwarded-client-cert"];
  const peer = /(?:^|;)URI=([^;,]+)[^,]*$/.exec(typeof certificates === "string" ? certificates : "")?.[1] ?? "";
  return { workload: name, version, method, path: url, headers, peer, from: socket.remoteAddress ?? "" };
}
