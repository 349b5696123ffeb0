import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { reasonOf } from "@istiod/runtime";
import { LimitedLog } from "@istiod/logging";
import type { Log } from "../log.js";
import { portError } from "../socket.js";
import type { RejectionReason } from "./resolver.js";

export interface UdpListenerOptions {
  readonly resolve: (message: Buffer, client: string) => Promise<Buffer | undefined>;
  readonly rejected: (reason: RejectionReason) => void;
  readonly log: Log;
}

/** Bytes of responses that the system has not accepted yet. Beyond, responses are dropped and clients ask again. */
const MAX_SEND_QUEUE_BYTES = 1024 * 1024;

/** Answers DNS queries over UDP on one address. */
export class UdpListener {
  readonly #options: UdpListenerOptions;
  readonly #log: LimitedLog;
  readonly #socket: Socket;
  #isOpen = false;

  constructor(address: string, options: UdpListenerOptions) {
    this.#options = options;
    this.#log = new LimitedLog(options.log);
    this.#socket = createSocket(address.includes(":") ? "udp6" : "udp4");
    this.#socket.on("message", (message, from) => void this.receive(message, from));
  }

  /** @throws AgentError `address` */
  async listen(address: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const fail = (error: Error): void => reject(portError(error, "DNS_PROXY_ADDR", address, port));
      this.#socket.once("error", fail);
      this.#socket.bind(port, address, () => {
        this.#socket.off("error", fail);
        resolve();
      });
    });
    this.#socket.on("error", (error) => this.#log.write("warn", `DNS over UDP: ${error.message}`));
    this.#isOpen = true;
  }

  get port(): number {
    return this.#socket.address().port;
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await new Promise<void>((done) => this.#socket.close(() => done()));
  }

  /** Resolves a datagram and sends the response. Never rejects. */
  async receive(message: Buffer, from: Pick<RemoteInfo, "address" | "port">): Promise<void> {
    const { resolve, rejected } = this.#options;
    // Nothing can be sent to port 0, which only forged datagrams come from.
    if (from.port === 0) return rejected("port_zero");
    try {
      const response = await resolve(message, from.address);
      if (!response || !this.#isOpen) return;
      if (this.#socket.getSendQueueSize() > MAX_SEND_QUEUE_BYTES) return rejected("send_queue");
      this.#socket.send(response, from.port, from.address, (error) => {
        if (error) this.#log.write("debug", `DNS over UDP: ${error.message}`);
      });
    } catch (error) {
      this.#log.write("warn", `DNS over UDP: ${reasonOf(error)}`);
    }
  }
}
