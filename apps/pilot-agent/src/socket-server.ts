import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import { createServer as createNetServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface SocketServerOptions {
  /** Connections. Further ones are closed. Default: 8. */
  readonly maxConnections?: number;
  /** Open streams of a connection. Further ones are refused. */
  readonly maxStreams: number;
  /** Megabytes that a connection may hold. Default: 10, as in node:http2. */
  readonly maxSessionMemory?: number;
  /** Replaces a connection before it is read. Default: the connection itself. */
  readonly accept?: (socket: Socket) => Duplex;
  /** Called when a connection is closed because there are too many. */
  readonly limited: () => void;
}

const DEFAULT_MAX_CONNECTIONS = 8;

/** An HTTP/2 server for Envoy on a Unix socket. Envoy opens one connection, and another one now and then. */
export class SocketServer {
  readonly http: Http2Server;
  /** Listens for the HTTP/2 server. */
  readonly listener: Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #sockets = new Set<Duplex>();

  constructor({
    maxConnections = DEFAULT_MAX_CONNECTIONS,
    maxStreams,
    maxSessionMemory = 10,
    accept,
    limited,
  }: SocketServerOptions) {
    this.http = createServer({ maxSessionMemory, settings: { maxConcurrentStreams: maxStreams } });
    this.listener =
      accept === undefined ? this.http : createNetServer((socket) => void this.http.emit("connection", accept(socket)));
    this.http.on("connection", (socket: Duplex) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.http.on("session", (session) => {
      session.on("error", () => session.destroy());
      if (this.#sessions.size >= maxConnections) {
        session.destroy();
        limited();
        return;
      }
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
    });
  }

  /** Closes every connection and stops listening. */
  async close(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    // While a write is blocked, Node keeps the socket of a session that was destroyed.
    for (const socket of this.#sockets) socket.destroy();
    const { listener } = this;
    if (listener.listening) await new Promise<void>((resolve) => listener.close(() => resolve()));
  }
}
