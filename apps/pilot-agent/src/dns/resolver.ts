import { Forwarder, type Forwarding, shuffled } from "./forwarding.js";
import type { NameLookup } from "./name-table.js";
import { CLASS_IN, CODE, decodeQuery, type Query } from "./query.js";
import { TYPE } from "./records.js";
import { addressResponse, emptyResponse, type Protocol, rejection, responseLimit } from "./response.js";

/** Reasons for which queries are not resolved: too many wait for upstream servers; the client is on another machine. */
export type RejectionReason = "forwards" | "connections" | "remote_client" | "port_zero" | "send_queue";

/** Events, for metrics. */
export interface DnsEvents {
  query?(): void;
  forwarded?(): void;
  failed?(): void;
  rejected?(reason: RejectionReason): void;
}

export interface ResolverOptions {
  readonly forwarding: Forwarding;
  /** Reports whether a client's queries are resolved. Those of others are refused. */
  readonly isAllowed: (client: string) => boolean;
  readonly events: DnsEvents;
}

/** Bytes of an A record, the smallest answer: a response cannot hold more addresses than its limit over this size. */
const MIN_ANSWER_BYTES = 16;

/** Resolves queries from the name table, and forwards all others. */
export class Resolver {
  readonly #options: ResolverOptions;
  readonly #forwarder: Forwarder;
  #names: NameLookup | undefined;

  constructor(options: ResolverOptions) {
    this.#options = options;
    this.#forwarder = new Forwarder(options.forwarding);
  }

  /** Replaces the name table. */
  update(names: NameLookup): void {
    this.#names = names;
  }

  /** Returns the response to a message; `undefined` if there is none. */
  async resolve(message: Buffer, protocol: Protocol, client: string): Promise<Buffer | undefined> {
    const { events, isAllowed } = this.#options;
    events.query?.();
    const received = decodeQuery(message);
    if (received.kind === "ignored") return undefined;
    if (received.kind === "rejected") return rejection(received.message, received.code);
    const { query } = received;
    if (!isAllowed(client)) {
      events.rejected?.("remote_client");
      return emptyResponse(query, CODE.refused);
    }
    if (query.edns && query.edns.version > 0) return emptyResponse(query, CODE.badVersion);
    if (!this.#names) return emptyResponse(query, CODE.serverFailure);
    return this.#fromTable(query, protocol, this.#names) ?? this.#forward(query, protocol, client);
  }

  #fromTable(query: Query, protocol: Protocol, names: NameLookup): Buffer | undefined {
    if (query.class !== CLASS_IN || (query.type !== TYPE.A && query.type !== TYPE.AAAA)) return undefined;
    const known = names.lookup(query.name);
    if (!known) return undefined;
    // A name without addresses of this family gets an empty response: NXDOMAIN would apply to the other family too.
    const addresses = query.type === TYPE.A ? known.addresses.v4 : known.addresses.v6;
    const limit = responseLimit(query, protocol);
    const some = shuffled(addresses, Math.ceil(limit / MIN_ANSWER_BYTES) + 1);
    return addressResponse(query, known.canonical, some, limit);
  }

  async #forward(query: Query, protocol: Protocol, client: string): Promise<Buffer> {
    const { events } = this.#options;
    const result = await this.#forwarder.forward(query, protocol, client);
    if (result.kind === "busy") {
      events.rejected?.("forwards");
      return emptyResponse(query, CODE.serverFailure);
    }
    events.forwarded?.();
    if (result.kind === "response") return result.response;
    events.failed?.();
    return emptyResponse(query, CODE.serverFailure);
  }
}
