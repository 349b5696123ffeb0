import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import { type Log, silentLog } from "../log.js";
import { listenOnPort, portError } from "../socket.js";
import { addressAnswer, emptyAnswer, NOT_IMPLEMENTED, type Query, readQuery, SERVER_FAILURE } from "./message.js";
import type { NameLookup } from "./name-table.js";
import { forward, type Forwarding, shuffled, withLengthPrefix } from "./forwarding.js";

export interface DnsServerOptions {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly forwarding: Forwarding;
  /** What happens, for counting. */
  readonly events?: { query?(): void; forwarded?(): void; failed?(): void };
  readonly log?: Log;
}

/** A connection over TCP that is silent for so many milliseconds is closed. */
const IDLE = 10_000;
const LONGEST_MESSAGE = 65_535;

/** Answers an application's DNS queries over UDP and TCP: names that istiod tells of, and all others by asking on. */
export class DnsServer {
  readonly #options: DnsServerOptions;
  readonly #log: Log;
  readonly #udp: UdpSocket[] = [];
  readonly #tcp: Server[] = [];
  readonly #connections = new Set<Socket>();
  #names: NameLookup | undefined;

  constructor(options: DnsServerOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
  }

  /**
   * Answers by these names from now on. Before the first, every answer is a failure, so that nobody resolves past the
   * mesh.
   */
  use(names: NameLookup): void {
    this.#names = names;
  }

  /** @throws AgentError `address` */
  async start(): Promise<void> {
    for (const address of this.#options.addresses) {
      const port = await this.#listenTcp(address);
      await this.#listenUdp(address, port);
    }
  }

  /** The port of each address. */
  get ports(): number[] {
    return this.#udp.map((socket) => socket.address().port);
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
    await Promise.all([
      ...this.#udp.map((socket) => new Promise<void>((done) => socket.close(() => done()))),
      ...this.#tcp.map((server) => new Promise<void>((done) => server.close(() => done()))),
    ]);
    this.#udp.length = 0;
    this.#tcp.length = 0;
  }

  async #listenTcp(address: string): Promise<number> {
    const server = createServer((connection) => this.#serveConnection(connection));
    await listenOnPort(server, this.#options.port, address, "DNS_PROXY_ADDR");
    this.#tcp.push(server);
    const bound = server.address();
    return bound !== null && typeof bound === "object" ? bound.port : this.#options.port;
  }

  async #listenUdp(address: string, port: number): Promise<void> {
    const socket = createSocket(address.includes(":") ? "udp6" : "udp4");
    await new Promise<void>((resolve, reject) => {
      socket.once("error", (error) => reject(portError(error, "DNS_PROXY_ADDR", address, port)));
      socket.bind(port, address, resolve);
    });
    socket.removeAllListeners("error").on("error", (error) => this.#log.warn(`DNS over UDP: ${error.message}`));
    socket.on("message", (message, from) => {
      void this.#answer(message, "udp").then(
        (answer) => answer && this.#udp.includes(socket) && socket.send(answer, from.port, from.address),
      );
    });
    this.#udp.push(socket);
  }

  #serveConnection(connection: Socket): void {
    let received = Buffer.alloc(0);
    this.#connections.add(connection);
    connection.setTimeout(IDLE, () => connection.destroy());
    connection.on("error", () => connection.destroy());
    connection.on("close", () => this.#connections.delete(connection));
    connection.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const size = received.readUInt16BE(0);
        const message = received.subarray(2, 2 + size);
        received = received.subarray(2 + size);
        void this.#answer(message, "tcp").then(
          (answer) => answer && connection.writable && connection.write(withLengthPrefix(answer)),
        );
      }
    });
  }

  async #answer(message: Buffer, protocol: "udp" | "tcp"): Promise<Buffer | undefined> {
    const { events = {} } = this.#options;
    events.query?.();
    const query = readQuery(message);
    if (!query) return refusal(message);
    if (!this.#names) return emptyAnswer(query, SERVER_FAILURE);
    const known = query.type === "A" || query.type === "AAAA" ? this.#names.lookup(query.name) : undefined;
    if (!known) return this.#forward(message, query, protocol);
    // Nothing of that type is not "no such name": a client that asks for both would take the latter for the whole
    // answer.
    const addresses = query.type === "A" ? known.addresses.v4 : known.addresses.v6;
    return addressAnswer(
      query,
      known.canonical,
      shuffled(addresses),
      protocol === "tcp" ? LONGEST_MESSAGE : query.udpSize,
    );
  }

  async #forward(message: Buffer, query: Query, protocol: "udp" | "tcp"): Promise<Buffer> {
    const { forwarding, events = {} } = this.#options;
    events.forwarded?.();
    const answer = await forward(message, protocol, forwarding);
    if (answer) return answer;
    events.failed?.();
    return emptyAnswer(query, SERVER_FAILURE);
  }
}

/**
 * The answer to what is no query that can be answered: nothing at all where it is not even a message, or is itself an
 * answer.
 */
function refusal(message: Buffer): Buffer | undefined {
  if (message.length < 12 || (message.readUInt16BE(2) & 0x8000) !== 0) return undefined;
  const head = Buffer.alloc(12);
  head.writeUInt16BE(message.readUInt16BE(0), 0);
  head.writeUInt16BE(0x8000 | (message.readUInt16BE(2) & 0x7900) | NOT_IMPLEMENTED, 2);
  return head;
}
