import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectionId, type LoopTimers } from "@istiod/tls-admission";
import type { ConnectionTable, CountedConnection } from "../limits/connection-table.js";
import type { LimitObserver, LimitReason } from "../limits/limit-reason.js";
import { addressKey, identifyPeer, type PeerIdentity } from "../limits/peer-key.js";
import { peerOf } from "./peer.js";

/** State that all listeners of a server share to limit their connections. */
export interface ConnectionSupervision {
  readonly table: ConnectionTable;
  readonly timers: LoopTimers;
  readonly limited: LimitObserver;
  /** Reports whether no connection may be accepted, because memory is short. */
  readonly isMemoryShort: () => boolean;
}

/** Timeouts and limits of the connections of a listener. Times are in milliseconds. */
export interface AcceptOptions {
  readonly handshakeTimeoutMs: number;
  readonly firstRequestTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** Maximum number of streams once the client is authenticated. */
  readonly maxStreams: number;
}

/** A call that can be ended. */
interface EndableCall {
  end(error: ConnectError): void;
}

const lingerMs = 1000;
/** Codes of errors that the client has caused, unlike those of a connection that it has closed. */
const violations: ReadonlySet<string> = new Set(["ERR_HTTP2_ERROR", "ERR_HTTP2_TOO_MANY_INVALID_FRAMES"]);

/** A connection from accept to close, with its timeouts. */
export class AcceptedConnection {
  /** Open discovery calls. */
  readonly calls = new Set<EndableCall>();
  readonly #socket: Socket;
  readonly #shared: ConnectionSupervision;
  readonly #options: AcceptOptions;
  readonly #counted: CountedConnection;
  #session: ServerHttp2Session | undefined;
  #openStreams = 0;
  #stopTimer: () => void;
  #identity: PeerIdentity | undefined;

  /** Accepts a socket, or destroys it if a limit rejects it. */
  static accept(socket: Socket, shared: ConnectionSupervision, options: AcceptOptions): AcceptedConnection | undefined {
    const key = addressKey(socket.remoteAddress ?? "");
    let accepted: AcceptedConnection | undefined;
    const counted = shared.isMemoryShort()
      ? "memory_pressure"
      : shared.table.add(key, (reason) => accepted?.close(reason));
    socket.on("error", () => undefined);
    if (typeof counted === "string") {
      socket.destroy();
      shared.limited(counted, key);
      return undefined;
    }
    return (accepted = new AcceptedConnection(socket, shared, options, counted));
  }

  private constructor(
    socket: Socket,
    shared: ConnectionSupervision,
    options: AcceptOptions,
    counted: CountedConnection,
  ) {
    this.#socket = socket;
    this.#shared = shared;
    this.#options = options;
    this.#counted = counted;
    this.#stopTimer = this.#startHandshakeTimer();
    socket.once("close", () => {
      this.#stopTimer();
      shared.table.delete(counted);
    });
  }

  /** The caller of the connection's streams, as far as the connection proves it. */
  get identity(): PeerIdentity {
    return (this.#identity ??=
      this.#session === undefined
        ? { key: this.#counted.key, isAuthenticated: false }
        : identifyPeer(peerOf(this.#session, {})));
  }

  /** Records that the client has sent its first bytes, and waits until the server begins its handshake. */
  queued(): void {
    this.#stopTimer();
  }

  /** Records that the server begins the handshake. The client has the whole time for it. */
  begun(): void {
    if (!this.#socket.destroyed) this.#stopTimer = this.#startHandshakeTimer();
  }

  /** Starts to supervise the session: the client must send its preface and SETTINGS, and open a stream. */
  opened(session: ServerHttp2Session): void {
    this.#session = session;
    session.once("remoteSettings", () => this.#restartIdleTimer());
    session.on("error", (error: NodeJS.ErrnoException) => {
      this.destroy();
      if (violations.has(error.code ?? "")) this.#shared.limited("http2_error", this.#counted.key);
    });
  }

  /** Records a stream of the connection. */
  streamOpened(stream: ServerHttp2Stream): void {
    this.#openStreams++;
    this.#stopTimer();
    stream.once("close", () => {
      if (--this.#openStreams === 0) this.#restartIdleTimer();
    });
  }

  /**
   * Records that a stream was admitted. An authenticated client has larger limits.
   *
   * @throws ConnectError `ResourceExhausted` if the identity has too many connections
   */
  admitted(identity: string | undefined): void {
    const { table, limited } = this.#shared;
    table.admitted(this.#counted);
    if (identity === undefined || this.#counted.key === identity) return;
    if (!table.authenticate(this.#counted, identity)) {
      limited("connections_per_peer", identity);
      throw new ConnectError("too many connections of this identity", Code.ResourceExhausted);
    }
    if (this.#session?.destroyed === false) this.#session.settings({ maxConcurrentStreams: this.#options.maxStreams });
  }

  /** Ends the calls and closes the connection because of a limit. */
  close(reason: LimitReason): void {
    this.#stopTimer();
    this.#shared.limited(reason, this.#counted.key);
    const session = this.#session;
    if (session === undefined || session.destroyed) return this.destroy();
    const isIdle = reason === "idle_timeout";
    this.endCalls(new ConnectError(errorOf(reason), Code.ResourceExhausted));
    if (isIdle) session.close();
    else session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    if (!isIdle && this.calls.size === 0) this.destroy();
    else this.#stopTimer = this.#shared.timers.after(lingerMs, () => this.destroy());
  }

  /** Ends the calls with an error. */
  endCalls(error: ConnectError): void {
    for (const call of this.calls) call.end(error);
  }

  /**
   * Closes the connection at once. While a write is blocked, or the client does not close its side, Node keeps the
   * socket of a session that was destroyed.
   */
  destroy(): void {
    this.#session?.destroy();
    this.#socket.destroy();
  }

  #startHandshakeTimer(): () => void {
    const { timers } = this.#shared;
    return timers.after(this.#options.handshakeTimeoutMs, () => this.close("handshake_timeout"));
  }

  #restartIdleTimer(): void {
    const { timers } = this.#shared;
    const { idleTimeoutMs, firstRequestTimeoutMs } = this.#options;
    this.#stopTimer();
    if (this.#socket.destroyed || this.#openStreams > 0) return;
    const timeoutMs = this.#counted.isAdmitted ? idleTimeoutMs : firstRequestTimeoutMs;
    this.#stopTimer = timers.after(timeoutMs, () => this.close("idle_timeout"));
  }
}

/** Accepts the connections of an HTTP/2 server within the limits. */
export class Acceptor {
  readonly server: Server;
  readonly #connections = new Map<string, AcceptedConnection>();

  constructor(
    http2: { emit(event: "connection", socket: Socket): boolean },
    accept: (socket: Socket) => AcceptedConnection | undefined,
  ) {
    this.server = createServer((socket) => {
      const connection = accept(socket);
      if (connection === undefined) return;
      const id = connectionId(socket);
      this.#connections.set(id, connection);
      socket.once("close", () => {
        if (this.#connections.get(id) === connection) this.#connections.delete(id);
      });
      http2.emit("connection", socket);
    });
  }

  /** Returns the connections that are not closed. */
  connections(): readonly AcceptedConnection[] {
    return [...this.#connections.values()];
  }

  /** Returns the connection of a session or socket; undefined if it was closed. */
  connectionOf({ socket }: Pick<ServerHttp2Session, "socket">): AcceptedConnection | undefined {
    return this.#connections.get(connectionId(socket));
  }
}

function errorOf(reason: LimitReason): string {
  return reason === "memory_pressure" ? "the server is short of memory" : "the server has too many connections";
}
