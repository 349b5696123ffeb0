import { randomInt } from "node:crypto";
import { Shares } from "../shares.js";
import { exchangeTcp, exchangeUdp, type UpstreamServer } from "./exchange.js";
import type { Query } from "./query.js";
import { answers, forwardedResponse, type Protocol, responseLimit } from "./response.js";

/** Options of forwarding. */
export interface Forwarding {
  readonly servers: readonly UpstreamServer[];
  /** Timeout of each server in milliseconds. */
  readonly timeout: number;
  /** Queries all servers at once and uses the first response. */
  readonly parallel: boolean;
  /** Maximum number of queries that wait for a response. One client gets half of them. Default: 2048. */
  readonly maxConcurrent?: number;
}

const DEFAULT_MAX_CONCURRENT = 2048;

/** Result of forwarding: `busy` if too many queries wait, `failed` if no server responded. */
export type Forwarded = { readonly kind: "response"; readonly response: Buffer } | { readonly kind: "busy" | "failed" };

/**
 * Forwards queries to the upstream name servers. Equal queries that wait at the same time are forwarded once, because
 * many open ports for one question would make it easier to forge its response (RFC 5452 §5).
 */
export class Forwarder {
  readonly #options: Forwarding;
  readonly #shares: Shares;
  readonly #waiting = new Map<string, Promise<Buffer | undefined>>();

  constructor(options: Forwarding) {
    this.#options = options;
    this.#shares = new Shares(options.maxConcurrent ?? DEFAULT_MAX_CONCURRENT);
  }

  /** The number of queries that wait for a response, equal ones counted each. */
  get waiting(): number {
    return this.#shares.inUse;
  }

  /** @param client the address that sent the query */
  async forward(query: Query, protocol: Protocol, client: string): Promise<Forwarded> {
    const release = this.#shares.take(client);
    if (!release) return { kind: "busy" };
    try {
      const limit = responseLimit(query, protocol);
      const raw = await this.#shared(query, protocol);
      const response = raw && forwardedResponse(query, raw, limit);
      return response ? { kind: "response", response } : { kind: "failed" };
    } finally {
      release();
    }
  }

  #shared(query: Query, protocol: Protocol): Promise<Buffer | undefined> {
    const key = `${protocol} ${query.message.toString("latin1", 2)}`;
    let response = this.#waiting.get(key);
    if (!response) {
      response = queryServers(query, protocol, this.#options).finally(() => this.#waiting.delete(key));
      this.#waiting.set(key, response);
    }
    return response;
  }
}

/** Queries the name servers in random order until one responds; `undefined` if none does. */
async function queryServers(
  query: Query,
  protocol: Protocol,
  { servers, timeout, parallel }: Forwarding,
): Promise<Buffer | undefined> {
  const send = (server: UpstreamServer, signal?: AbortSignal): Promise<Buffer> => {
    const { id, message } = outgoing(query);
    const isResponse = (response: Buffer): boolean =>
      answers(query, id, response) && forwardedResponse(query, response, response.length) !== undefined;
    const exchange = { server, message, timeout, isResponse, ...(signal ? { signal } : {}) };
    return protocol === "udp" ? exchangeUdp(exchange) : exchangeTcp(exchange);
  };
  if (parallel) {
    const abort = new AbortController();
    const first = await Promise.any(servers.map((server) => send(server, abort.signal))).catch(() => undefined);
    abort.abort();
    return first;
  }
  for (const server of shuffled(servers)) {
    const response = await send(server).catch(() => undefined);
    if (response) return response;
  }
  return undefined;
}

/** Copies a query with a random ID and the size of UDP responses that the agent accepts. */
function outgoing({ message, edns }: Query): { readonly id: number; readonly message: Buffer } {
  const id = randomInt(0x10000);
  const copy = Buffer.from(message);
  copy.writeUInt16BE(id, 0);
  if (edns) copy.writeUInt16BE(edns.udpSize, edns.sizeAt);
  return { id, message: copy };
}

/** Returns items in random order (Fisher–Yates), at most `count` of them. */
export function shuffled<T>(items: readonly T[], count = items.length): T[] {
  const order = [...items];
  const end = Math.min(count, order.length);
  for (let at = 0; at < end; at++) {
    const other = at + Math.floor(Math.random() * (order.length - at));
    [order[at], order[other]] = [order[other] as T, order[at] as T];
  }
  return order.length > end ? order.slice(0, end) : order;
}
