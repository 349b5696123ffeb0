import type { Http2SecureServer } from "node:http2";
import type { Socket } from "node:net";
import { addressGroup } from "@istiod/peer-address";
import type { Clock } from "@istiod/settings";

/** Handshakes begun in a turn of the event loop. Each takes one to two milliseconds. */
const handshakesPerTurn = 8;
/** Time in which a client must begin its handshake. */
const firstBytesMs = 10_000;

type ConnectionListener = (socket: Socket) => void;

/**
 * Begins few TLS handshakes in each turn of the event loop, so that thousands of connections at once do not block it.
 * Addresses (IPv6: /64 networks) take turns. A connection waits without a handshake until its client has sent
 * something, and is closed if that takes too long.
 */
export function paceHandshakes(server: Http2SecureServer, clock: Clock): void {
  const begin = server.listeners("connection") as ConnectionListener[];
  server.removeAllListeners("connection");
  const queue = new HandshakeQueue((socket) => {
    for (const listener of begin) listener.call(server, socket);
  });
  server.on("connection", (socket: Socket) => {
    const destroy = (): void => void socket.destroy();
    const stop = clock.after(firstBytesMs, destroy);
    const ready = (): void => {
      socket.off("error", destroy).off("close", stop);
      stop();
      if (!socket.destroyed) queue.push(socket);
    };
    socket.once("readable", ready).once("error", destroy).once("close", stop);
  });
}

class HandshakeQueue {
  readonly #begin: ConnectionListener;
  /** Waiting connections by address. The first address is next. */
  readonly #waiting = new Map<string, Socket[]>();
  #isScheduled = false;

  constructor(begin: ConnectionListener) {
    this.#begin = begin;
  }

  push(socket: Socket): void {
    const group = addressGroup(socket.remoteAddress ?? "");
    const sockets = this.#waiting.get(group);
    if (sockets === undefined) this.#waiting.set(group, [socket]);
    else sockets.push(socket);
    socket.on("error", ignore);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (let begun = 0; begun < handshakesPerTurn && this.#waiting.size > 0; begun++) this.#next();
      this.#schedule();
    });
  }

  #next(): void {
    for (const [group, sockets] of this.#waiting) {
      this.#waiting.delete(group);
      const socket = sockets.shift();
      if (sockets.length > 0) this.#waiting.set(group, sockets);
      if (socket === undefined) return;
      socket.off("error", ignore);
      if (!socket.destroyed) this.#begin(socket);
      return;
    }
  }
}

function ignore(): void {}
