import { createServer, type Server, type Socket } from "node:net";
import { ByteQueue } from "@istiod/protobuf-wire";
import { type Clock, reasonOf } from "@istiod/runtime";
import { LimitedLog } from "@istiod/logging";
import type { Log } from "../log.js";
import type { Shares } from "../shares.js";
import { listenOnPort } from "../socket.js";
import { takeMessage, withLengthPrefix } from "./exchange.js";
import type { RejectionReason } from "./resolver.js";

export interface TcpListenerOptions {
  readonly resolve: (message: Buffer, client: string) => Promise<Buffer | undefined>;
  readonly rejected: (reason: RejectionReason) => void;
  /** Slots for connections, which all listeners of a server share. */
  readonly connections: Shares;
  readonly clock: Clock;
  readonly log: Log;
}

/** Milliseconds for a whole message to arrive, and until an idle connection or one that is not read is closed. */
export const MESSAGE_TIMEOUT = 10_000;
/** Queries of a connection that are resolved at once. Reading pauses beyond. */
const MAX_PENDING = 32;

/** Answers DNS queries over TCP (RFC 7766) on one address. */
export class TcpListener {
  readonly #options: TcpListenerOptions;
  readonly #log: LimitedLog;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(options: TcpListenerOptions) {
    this.#options = options;
    this.#log = new LimitedLog(options.log);
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
    this.#server.on("error", (error) => this.#log.write("warn", `DNS over TCP: ${error.message}`));
  }

  /** @returns the bound port @throws AgentError `address` */
  async listen(address: string, port: number): Promise<number> {
    await listenOnPort(this.#server, port, address, "DNS_PROXY_ADDR");
    const bound = this.#server.address();
    return bound !== null && typeof bound === "object" ? bound.port : port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise<void>((done) => this.#server.close(() => done()));
  }

  #accept(socket: Socket): void {
    const { connections, rejected, clock, resolve } = this.#options;
    socket.on("error", () => socket.destroy());
    const client = socket.remoteAddress ?? "";
    const release = connections.take(client);
    if (!release) {
      rejected("connections");
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      release();
    });
    new TcpConnection(socket, clock, async (message) => {
      try {
        return await resolve(message, client);
      } catch (error) {
        this.#log.write("warn", `DNS over TCP: ${reasonOf(error)}`);
        return undefined;
      }
    });
  }
}

/** A client's connection. Single bytes do not extend its deadline, only whole messages do. */
class TcpConnection {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #resolve: (message: Buffer) => Promise<Buffer | undefined>;
  readonly #received = new ByteQueue();
  #cancelDeadline: () => void = () => undefined;
  #pending = 0;
  #hasEnded = false;

  /** @param resolve never rejects */
  constructor(socket: Socket, clock: Clock, resolve: (message: Buffer) => Promise<Buffer | undefined>) {
    this.#socket = socket;
    this.#clock = clock;
    this.#resolve = resolve;
    socket.on("data", (bytes: Buffer) => {
      this.#received.push(bytes);
      this.#readMessages();
    });
    socket.on("drain", () => this.#readMessages());
    socket.on("end", () => {
      this.#hasEnded = true;
      this.#endIfDone();
    });
    socket.once("close", () => this.#cancelDeadline());
    this.#setDeadline();
  }

  #setDeadline(): void {
    this.#cancelDeadline();
    this.#cancelDeadline = this.#clock.after(MESSAGE_TIMEOUT, () => {
      if (this.#pending > 0) this.#setDeadline();
      else this.#socket.destroy();
    });
  }

  #readMessages(): void {
    while (this.#pending < MAX_PENDING && !this.#socket.writableNeedDrain) {
      const message = takeMessage(this.#received);
      if (!message) break;
      this.#setDeadline();
      this.#pending++;
      void this.#resolve(message).then((response) => this.#respond(response));
    }
    if (this.#pending >= MAX_PENDING || this.#socket.writableNeedDrain) this.#socket.pause();
    else this.#socket.resume();
  }

  #respond(response: Buffer | undefined): void {
    this.#pending--;
    if (this.#socket.destroyed) return;
    if (response) this.#socket.write(withLengthPrefix(response));
    this.#readMessages();
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#hasEnded && this.#pending === 0) this.#socket.end();
  }
}
