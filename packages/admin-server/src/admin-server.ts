import { createServer, type RequestListener, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { type Clock, maxOpenFiles, monotonicClock } from "@istiod/runtime";
import { LoopTimers, paceHandshakes } from "@istiod/tls-admission";
import { limitConnections } from "./connection-limit.js";

/** Limits of connections and requests. Times are in milliseconds. */
export interface HttpLimits {
  /** Default 512, at most a sixteenth of the files that the process may open. */
  readonly maxConnections?: number;
  /** Size of all headers of a request in bytes. Default 16,384. */
  readonly maxHeaderBytes?: number;
  /** Time to receive the headers, from the connection or the previous request. Default 10,000. */
  readonly headersMs?: number;
  /** Time to receive a whole request. Default 30,000. */
  readonly requestMs?: number;
  /** Time without a transferred byte, unless an answer is being prepared and all before was read. Default 60,000. */
  readonly idleMs?: number;
  /** Called when a connection is closed because there are too many. */
  readonly limited?: () => void;
  /** For the timeouts of handshakes. Default: the monotonic clock. */
  readonly clock?: Clock;
}

const defaultHeadersMs = 10_000;
const defaultIdleMs = 60_000;
const maxHeadersCount = 100;
const maxRequestsPerConnection = 10_000;

/** Creates an HTTP server whose clients cannot hold connections, memory or time without a bound. */
export function createAdminServer(listener: RequestListener, limits: HttpLimits = {}): Server {
  const responses: Responses = new WeakMap();
  return limited(createServer(serverOptions(limits), tracking(responses, listener)), responses, limits);
}

/**
 * Creates an HTTPS server with the same bounds, and with few handshakes in progress at a time, of which addresses have
 * equal shares. The time to receive the headers is also that of the handshake. `setSecureContext` of the server
 * replaces the certificate for new connections.
 */
export function createSecureAdminServer(
  listener: RequestListener,
  tls: SecureContextOptions,
  limits: HttpLimits = {},
): SecureServer {
  const responses: Responses = new WeakMap();
  const server = createSecureServer({ ...serverOptions(limits), ...tls }, tracking(responses, listener));
  paceHandshakes(server, {
    timers: new LoopTimers(limits.clock ?? monotonicClock),
    timeoutMs: limits.headersMs ?? defaultHeadersMs,
    close: (socket) => void socket.destroy(),
  });
  return limited(server, responses, limits);
}

/** The last response of each connection. */
type Responses = WeakMap<Socket, ServerResponse>;

function tracking(responses: Responses, listener: RequestListener): RequestListener {
  return (request, response) => {
    responses.set(request.socket, response);
    listener(request, response);
  };
}

function serverOptions(limits: HttpLimits): ServerOptions {
  const { maxHeaderBytes = 16_384, headersMs = defaultHeadersMs, requestMs = 30_000 } = limits;
  return {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: limits.idleMs ?? defaultIdleMs,
    connectionsCheckingInterval: Math.max(10, Math.min(headersMs, requestMs, 5000) / 2),
  };
}

/** Returns 512, or less where the process may open few files: connections must leave some to the process itself. */
function defaultMaxConnections(): number {
  return Math.max(2, Math.min(512, Math.floor((maxOpenFiles() ?? Infinity) / 16)));
}

function limited<S extends Server | SecureServer>(server: S, responses: Responses, limits: HttpLimits): S {
  server.maxHeadersCount = maxHeadersCount;
  server.maxRequestsPerSocket = maxRequestsPerConnection;
  server.setTimeout(limits.idleMs ?? defaultIdleMs, (socket: Socket) => {
    const response = responses.get(socket);
    const isPreparing = response !== undefined && !response.writableEnded && response.writableLength === 0;
    if (!isPreparing) socket.destroy();
  });
  limitConnections(server, limits.maxConnections ?? defaultMaxConnections(), limits.limited ?? (() => undefined));
  return server;
}
