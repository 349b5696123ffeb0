import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import { type Log, silentLog } from "../log.js";
import { listenOnPort, portError } from "../socket.js";
import { addressResponse, emptyResponse, NOT_IMPLEMENTED, type Query, decodeQuery, SERVER_FAILURE } from "./message.js";
import type { NameLookup } from "./name-table.js";
import { forward, type Forwarding, shuffled, withLengthPrefix } from "./forwarding.js";

export interface DnsServerOptions {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly forwarding: Forwarding;
  /** Events, for metrics. */
  readonly events?: { query?(): void; forwarded?(): void; failed?(): void };
  readonly log?: Log;
}

/** Idle timeout of TCP connections in milliseconds. */
const IDLE_TIMEOUT = 10_000;
const MAX_TCP_MESSAGE = 65_535;

/** Resolves an application's DNS queries over UDP and TCP from the name table, and forwards all others. */
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
   * Replaces the name table. Until the first one, every query fails with SERVFAIL, so that no name of the mesh is
   * resolved elsewhere.
   */
  update(names: NameLookup): void {
    this.#names = names;
  }

  /** @throws AgentError `address` */
  async start(): Promise<void> {
    for (const address of this.#options.addresses) {
      const port = await this.#listenTcp(address);
      await this.#listenUdp(address, port);
    }
  }

  /** The bound port of each address. */
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
      void this.#resolve(message, "udp").then(
        (answer) => answer && this.#udp.includes(socket) && socket.send(answer, from.port, from.address),
      );
    });
    this.#udp.push(socket);
  }

  #serveConnection(connection: Socket): void {
    let received = Buffer.alloc(0);
    this.#connections.add(connection);
    connection.setTimeout(IDLE_TIMEOUT, () => connection.destroy());
    connection.on("error", () => connection.destroy());
    connection.on("close", () => this.#connections.delete(connection));
    connection.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const size = received.readUInt16BE(0);
        const message = received.subarray(2, 2 + size);
        received = received.subarray(2 + size);
        void this.#resolve(message, "tcp").then(
          (answer) => answer && connection.writable && connection.write(withLengthPrefix(answer)),
        );
      }
    });
  }

  async #resolve(message: Buffer, protocol: "udp" | "tcp"): Promise<Buffer | undefined> {
    const { events = {} } = this.#options;
    events.query?.();
    const query = decodeQuery(message);
    if (!query) return notImplemented(message);
    if (!this.#names) return emptyResponse(query, SERVER_FAILURE);
    const known = query.type === "A" || query.type === "AAAA" ? this.#names.lookup(query.name) : undefined;
    if (!known) return this.#forward(message, query, protocol);
    // A name without addresses of this family gets an empty response: NXDOMAIN would apply to the other family too.
    const addresses = query.type === "A" ? known.addresses.v4 : known.addresses.v6;
    return addressResponse(
      query,
      known.canonical,
      shuffled(addresses),
      protocol === "tcp" ? MAX_TCP_MESSAGE : query.udpSize,
    );
  }

  async #forward(message: Buffer, query: Query, protocol: "udp" | "tcp"): Promise<Buffer> {
    const { forwarding, events = {} } = this.#options;
    events.forwarded?.();
    const response = await forward(message, protocol, forwarding);
    if (response) return response;
    events.failed?.();
    return emptyResponse(query, SERVER_FAILURE);
  }
}

/** Returns NOTIMP for an unsupported query; `undefined` for a response or malformed message. */
function notImplemented(message: Buffer): Buffer | undefined {
  if (message.length < 12 || (message.readUInt16BE(2) & 0x8000) !== 0) return undefined;
  const head = Buffer.alloc(12);
  head.writeUInt16BE(message.readUInt16BE(0), 0);
  head.writeUInt16BE(0x8000 | (message.readUInt16BE(2) & 0x7900) | NOT_IMPLEMENTED, 2);
  return head;
}
