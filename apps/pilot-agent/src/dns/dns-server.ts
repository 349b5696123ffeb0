import { isLoopback } from "@istiod/peer-address";
import { type Clock, monotonicClock } from "@istiod/runtime";
import { type Log, silentLog } from "../log.js";
import { Shares } from "../shares.js";
import type { Forwarding } from "./forwarding.js";
import { LocalAddresses } from "./local-addresses.js";
import type { NameLookup } from "./name-table.js";
import { type DnsEvents, Resolver } from "./resolver.js";
import { TcpListener } from "./tcp-listener.js";
import { UdpListener } from "./udp-listener.js";

export interface DnsServerOptions {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly forwarding: Forwarding;
  /** Maximum number of TCP connections. One client gets half of them. Default: 256. */
  readonly maxConnections?: number;
  /** Resolves queries of other machines. Default: false, which refuses them. */
  readonly allowRemoteClients?: boolean;
  readonly events?: DnsEvents;
  readonly clock?: Clock;
  readonly log?: Log;
}

const DEFAULT_MAX_CONNECTIONS = 256;

/** Resolves an application's DNS queries over UDP and TCP from the name table, and forwards all others. */
export class DnsServer {
  readonly #options: DnsServerOptions;
  readonly #resolver: Resolver;
  readonly #connections: Shares;
  readonly #udp: UdpListener[] = [];
  readonly #tcp: TcpListener[] = [];

  constructor(options: DnsServerOptions) {
    const { addresses, forwarding, events = {}, maxConnections = DEFAULT_MAX_CONNECTIONS } = options;
    this.#options = options;
    this.#connections = new Shares(maxConnections);
    const local = new LocalAddresses(options.clock);
    const isOpen = options.allowRemoteClients === true || addresses.every(isLoopback);
    this.#resolver = new Resolver({ forwarding, events, isAllowed: (client) => isOpen || local.has(client) });
  }

  /**
   * Replaces the name table. Until the first one, every query fails with SERVFAIL, so that no name of the mesh is
   * resolved elsewhere.
   */
  update(names: NameLookup): void {
    this.#resolver.update(names);
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
    return this.#udp.map(({ port }) => port);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#udp, ...this.#tcp].map((listener) => listener.close()));
    this.#udp.length = 0;
    this.#tcp.length = 0;
  }

  async #listenTcp(address: string): Promise<number> {
    const { port, clock = monotonicClock, log = silentLog } = this.#options;
    const listener = new TcpListener({
      resolve: (message, client) => this.#resolver.resolve(message, "tcp", client),
      rejected: (reason) => this.#options.events?.rejected?.(reason),
      connections: this.#connections,
      clock,
      log,
    });
    const bound = await listener.listen(address, port);
    this.#tcp.push(listener);
    return bound;
  }

  async #listenUdp(address: string, port: number): Promise<void> {
    const listener = new UdpListener(address, {
      resolve: (message, client) => this.#resolver.resolve(message, "udp", client),
      rejected: (reason) => this.#options.events?.rejected?.(reason),
      log: this.#options.log ?? silentLog,
    });
    await listener.listen(address, port);
    this.#udp.push(listener);
  }
}
