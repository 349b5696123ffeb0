import type { Server as PlaintextServer, Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";
import { addressGroup } from "@istiod/peer-address";
import { monotonicClock } from "@istiod/runtime";
import { connectionId } from "./connection-id.js";
import { HandshakeQueue } from "./handshake-queue.js";
import type { LoopTimers } from "./loop-timers.js";

/** Handshakes begun in a turn of the event loop. Each takes one to two milliseconds. */
const handshakesPerTurn = 8;
/** Plaintext connections begun in a turn. Each may bring a hundred requests, which take 10 milliseconds. */
const plaintextPerTurn = 2;
/**
 * Handshakes in progress. All clients may complete them at the same time, and then one turn of the event loop has the
 * signatures of all to verify.
 */
const limits = { total: 64, perGroup: 32 };
/** Time after which a handshake loses its place to a connection that waits for one. */
const slowMs = 1000;

/**
 * Time in milliseconds for which no handshake begins while connections are being accepted. Node.js accepts one
 * connection of a server in a turn. If handshakes ran in each of these turns, a client would wait behind all
 * connections that the kernel has queued, before its address could have its share.
 */
const acceptingMs = 20;

type ConnectionListener = (socket: Socket) => void;

/** Receives when a connection waits. Its client is not to blame for that time. */
export interface WaitObserver {
  /** Called when the client has sent its first bytes and waits for its turn. */
  readonly queued?: (socket: Socket) => void;
  /** Called when the connection's turn has come. */
  readonly begun?: (socket: Socket) => void;
}

/** The timeouts of connections without a complete handshake. */
export interface HandshakeOptions extends WaitObserver {
  readonly timers: Pick<LoopTimers, "after">;
  /**
   * Time from the connection to its first bytes, and from the begin of its handshake to its end, in milliseconds.
   * Default: none, `close` has its own.
   */
  readonly timeoutMs?: number;
  /** Closes a connection after the timeout, or whose handshake takes long while others wait. */
  readonly close: (socket: Socket) => void;
  /** Returns a time in milliseconds. Default: that of the monotonic clock. */
  readonly now?: () => number;
}

/**
 * Begins few TLS handshakes in each turn of the event loop and bounds how many are in progress, so that thousands of
 * connections at once do not block it. Addresses (IPv6: /64 networks) have equal shares. A connection waits without a
 * handshake until its client has sent something. Connections are accepted before handshakes begin, for a short time.
 *
 * The listeners of `connection` that the server has are those that begin a handshake. Listeners that are added later
 * see each connection at once.
 */
export function paceHandshakes(server: Server, options: HandshakeOptions): void {
  const begin = server.listeners("connection") as ConnectionListener[];
  server.removeAllListeners("connection");
  const pacer = new HandshakePacer(handshakesPerTurn, options, (socket) => {
    for (const listener of begin) listener.call(server, socket);
  });
  server.on("connection", (socket: Socket) => pacer.accept(socket));
  server.on("secureConnection", (socket: TLSSocket) => pacer.completed(connectionId(socket)));
}

/**
 * Begins few connections of a server without TLS in each turn of the event loop, since a client may have sent many
 * requests with its first bytes. Addresses take turns. Listeners are moved as by {@link paceHandshakes}.
 */
export function paceConnections(server: PlaintextServer, observer: WaitObserver = {}): void {
  const begin = server.listeners("connection") as ConnectionListener[];
  server.removeAllListeners("connection");
  const pacer = new HandshakePacer(plaintextPerTurn, { ...untimed, ...observer }, (socket) => {
    for (const listener of begin) listener.call(server, socket);
    pacer.completed(connectionId(socket));
  });
  server.on("connection", (socket: Socket) => pacer.accept(socket));
}

const untimed: HandshakeOptions = { timers: { after: () => ignore }, close: (socket) => void socket.destroy() };

/** A connection without a complete handshake. */
interface Paced {
  readonly id: string;
  readonly socket: Socket;
  readonly group: string;
  stopTimeout: () => void;
  stopSlowTimer: () => void;
}

class HandshakePacer {
  readonly #perTurn: number;
  readonly #options: HandshakeOptions;
  readonly #begin: ConnectionListener;
  readonly #queue = new HandshakeQueue<Paced>(limits);
  /** Handshakes in progress by connection ID. */
  readonly #inProgress = new Map<string, Paced>();
  #isScheduled = false;
  /** A connection was accepted in this turn. */
  #hasAccepted = false;
  /** Time since which a connection was accepted in each turn. */
  #acceptingSince: number | undefined;

  constructor(perTurn: number, options: HandshakeOptions, begin: ConnectionListener) {
    this.#perTurn = perTurn;
    this.#options = options;
    this.#begin = begin;
  }

  accept(socket: Socket): void {
    this.#hasAccepted = true;
    const paced: Paced = {
      id: connectionId(socket),
      socket,
      group: addressGroup(socket.remoteAddress ?? ""),
      stopTimeout: this.#startTimeout(socket),
      stopSlowTimer: ignore,
    };
    socket.on("error", ignore).once("close", () => this.#delete(paced));
    socket.once("readable", () => {
      if (socket.destroyed) return;
      paced.stopTimeout();
      this.#options.queued?.(socket);
      this.#queue.push(paced, paced.group);
      this.#schedule();
    });
  }

  completed(id: string): void {
    const paced = this.#inProgress.get(id);
    if (paced !== undefined) this.#delete(paced);
  }

  #delete(paced: Paced): void {
    paced.stopTimeout();
    paced.stopSlowTimer();
    if (this.#inProgress.get(paced.id) === paced) this.#inProgress.delete(paced.id);
    this.#queue.delete(paced, paced.group);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#isAccepting()) return this.#schedule();
      for (let begun = 0; begun < this.#perTurn; begun++) {
        const next = this.#queue.begin();
        if (next === undefined) return;
        if (next.instead !== undefined) this.#options.close(next.instead.socket);
        this.#start(next.connection);
      }
      this.#schedule();
    });
  }

  /** Reports whether connections are being accepted, and have not been for too long. */
  #isAccepting(): boolean {
    const hasAccepted = this.#hasAccepted;
    this.#hasAccepted = false;
    const now = (this.#options.now ?? monotonicClock.now)();
    const since = hasAccepted ? (this.#acceptingSince ?? now) : undefined;
    const isAccepting = since !== undefined && now - since < acceptingMs;
    this.#acceptingSince = isAccepting ? since : undefined;
    return isAccepting;
  }

  #startTimeout(socket: Socket): () => void {
    const { timers, timeoutMs, close } = this.#options;
    return timeoutMs === undefined ? ignore : timers.after(timeoutMs, () => close(socket));
  }

  #start(paced: Paced): void {
    this.#inProgress.set(paced.id, paced);
    paced.stopTimeout = this.#startTimeout(paced.socket);
    this.#options.begun?.(paced.socket);
    paced.stopSlowTimer = this.#options.timers.after(slowMs, () => {
      this.#queue.markSlow(paced);
      this.#schedule();
    });
    paced.socket.off("error", ignore);
    this.#begin(paced.socket);
  }
}

function ignore(): void {}
