import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { limitConnections } from "./connection-limit.js";

/** Limits of connections and requests. Times are in milliseconds. */
export interface HttpLimits {
  /** Default 512. */
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
}

const maxHeadersCount = 100;
const maxRequestsPerConnection = 10_000;

/** Creates an HTTP server whose clients cannot hold connections, memory or time without a bound. */
export function createAdminServer(listener: RequestListener, limits: HttpLimits = {}): Server {
  const {
    maxConnections = 512,
    maxHeaderBytes = 16_384,
    headersMs = 10_000,
    requestMs = 30_000,
    idleMs = 60_000,
    limited = () => undefined,
  } = limits;
  const responses = new WeakMap<Socket, ServerResponse>();
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.max(10, Math.min(headersMs, requestMs, 5000) / 2),
    },
    (request, response) => {
      responses.set(request.socket, response);
      listener(request, response);
    },
  );
  server.maxHeadersCount = maxHeadersCount;
  server.maxRequestsPerSocket = maxRequestsPerConnection;
  server.setTimeout(idleMs, (socket) => {
    const response = responses.get(socket);
    const isPreparing = response !== undefined && !response.writableEnded && response.writableLength === 0;
    if (!isPreparing) socket.destroy();
  });
  limitConnections(server, maxConnections, limited);
  return server;
}
