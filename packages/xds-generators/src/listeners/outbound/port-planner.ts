import type { QueryContext } from "@istiod/incremental";
import { ipMode } from "@istiod/push-context";
import { isHttp, isTcp, type Protocol } from "@istiod/service-discovery";
import { ClaimedMatches } from "../filter-chain-match.js";
import { wildcards } from "../listener-address.js";
import type { ChainSource, ConflictRecorder } from "../listener-conflicts.js";
import { httpChainPlan, type ListenerRequest, serviceBinds, sourceOf } from "./listener-request.js";
import { type ChainPlan, type HttpChainPlan, type OutboundPlan, outboundPlan } from "./outbound-plan.js";
import { tcpChainPlans } from "./tcp-chain-plans.js";

/** A request with the addresses that its listener has. */
interface Candidate {
  readonly request: ListenerRequest;
  /** The primary address, the first of `binds`. */
  readonly bind: string;
  readonly binds: readonly string[];
  /** Destination ranges, if the listener takes all addresses but the service has only some. */
  readonly destinations: readonly string[];
}

interface ListenerEntry {
  readonly binds: readonly string[];
  readonly bindToPort: boolean;
  readonly port: number;
  chains: readonly ChainPlan[];
  readonly matches: ClaimedMatches<ChainPlan>;
  /** The listener's protocol; undeclared once it must be detected. */
  protocol: Protocol;
  locked: boolean;
  /** The source of the first request. */
  readonly source: ChainSource;
}

/**
 * Plans the outbound listeners at one port, keyed by primary address. HTTP services share a listener, other services
 * add filter chains to it as long as Envoy can distinguish them, and of chains that overlap the first is kept.
 */
export class PortPlanner {
  readonly #q: QueryContext;
  readonly #recorder: ConflictRecorder | undefined;
  readonly #entries = new Map<string, ListenerEntry>();

  constructor(q: QueryContext, recorder: ConflictRecorder | undefined) {
    this.#q = q;
    this.#recorder = recorder;
  }

  get plans(): readonly OutboundPlan[] {
    return [...this.#entries.values()].map(({ binds, bindToPort, port, chains }) =>
      outboundPlan({ binds, bindToPort, port, chains }),
    );
  }

  /** Locks all present listeners: later egress listeners add nothing to them. */
  lock(): void {
    for (const entry of this.#entries.values()) entry.locked = true;
  }

  add(request: ListenerRequest): void {
    const { protocol, number } = request.port;
    if (protocol === "UDP") return;
    const candidate = this.#candidate(request);
    const address = `${candidate.bind}:${number}`;
    const existing = this.#entries.get(candidate.bind);
    if (existing?.locked === true) {
      this.#ignore(candidate, existing, `an egress listener of a Sidecar already uses ${address}`);
    } else if (protocol === "HTTP_PROXY") {
      this.#set(candidate, [this.#httpChain(candidate, false)], protocol);
    } else if (existing !== undefined && !canSharePort(protocol, existing.protocol)) {
      const reason = `${protocol} cannot share ${address} with ${existing.protocol}: one of them is a server-first protocol`;
      this.#ignore(candidate, existing, reason);
    } else if (isHttp(protocol)) {
      this.#addHttp(candidate, existing);
    } else if (isTcp(protocol)) {
      this.#addTcp(candidate, existing);
    } else {
      this.#addUndeclared(candidate, existing);
    }
  }

  #candidate(request: ListenerRequest): Candidate {
    const all = this.#wildcards;
    const { binds, destinations } = isHttp(request.port.protocol)
      ? { binds: request.binds.length === 0 ? all : request.binds, destinations: [] }
      : serviceBinds(this.#q, request, all);
    return { request, bind: binds[0] ?? "", binds, destinations };
  }

  /** HTTP services at one address share the listener: its route configuration distinguishes them. */
  #addHttp(candidate: Candidate, existing: ListenerEntry | undefined): void {
    const sniffed = candidate.bind === this.#wildcards[0];
    if (existing === undefined) {
      const { protocol } = candidate.request.port;
      this.#set(candidate, [this.#httpChain(candidate, sniffed)], sniffed ? "UnsupportedProtocol" : protocol);
    } else if (isTcp(existing.protocol)) {
      this.#merge(existing, [this.#httpChain(candidate, sniffed)]);
      existing.protocol = "UnsupportedProtocol";
    }
  }

  #addTcp(candidate: Candidate, existing: ListenerEntry | undefined): void {
    if (existing === undefined) {
      this.#set(candidate, this.#tcpChains(candidate), candidate.request.port.protocol);
      return;
    }
    this.#merge(existing, this.#tcpChains(candidate));
    if (isHttp(existing.protocol)) existing.protocol = "UnsupportedProtocol";
  }

  /** A port without a protocol has chains for both detected HTTP and anything else. */
  #addUndeclared(candidate: Candidate, existing: ListenerEntry | undefined): void {
    if (existing === undefined || isHttp(existing.protocol)) {
      const chains = [...this.#tcpChains(candidate), this.#httpChain(candidate, true)];
      this.#set(candidate, chains, candidate.request.port.protocol);
    } else if (isTcp(existing.protocol)) {
      this.#merge(existing, [...this.#tcpChains(candidate), this.#httpChain(candidate, true)]);
      existing.protocol = "UnsupportedProtocol";
    } else {
      this.#merge(existing, this.#tcpChains(candidate));
    }
  }

  #httpChain({ request, bind }: Candidate, sniffed: boolean): HttpChainPlan {
    const chain = httpChainPlan(this.#q, request, bind, { all: this.#wildcards[0], sniffed });
    this.#recorder?.recordSource(chain, sourceOf(request));
    return chain;
  }

  #tcpChains({ request, bind, destinations }: Candidate): readonly ChainPlan[] {
    const target = { ...request, bind, destinations, isPodAddress: request.isPodAddress === true };
    return tcpChainPlans(this.#q, target, this.#recorder);
  }

  get #wildcards(): readonly [string, ...string[]] {
    return wildcards[this.#q.ask(ipMode)];
  }

  #set({ request, bind, binds }: Candidate, chains: readonly ChainPlan[], protocol: Protocol): void {
    const { bindToPort, port } = request;
    const source = sourceOf(request);
    const entry: ListenerEntry = {
      binds,
      bindToPort,
      port: port.number,
      chains: [],
      matches: new ClaimedMatches(),
      protocol,
      locked: false,
      source,
    };
    this.#entries.set(bind, entry);
    this.#merge(entry, chains);
  }

  /** Adds chains to a listener, except those with a match that Envoy would reject as a duplicate. */
  #merge(entry: ListenerEntry, chains: readonly ChainPlan[]): void {
    const recorder = this.#recorder;
    const [bind = ""] = entry.binds;
    const merged = [...entry.chains];
    for (const chain of chains) {
      const same = entry.matches.claim(chain.match, chain);
      if (same === undefined) merged.push(chain);
      else if (chain.kind === "tcp") {
        const reason = `both match the same connections to ${bind}:${entry.port}`;
        recorder?.recordConflict(bind, recorder.sourceOf(chain), recorder.sourceOf(same), reason);
      }
    }
    entry.chains = merged;
  }

  #ignore({ request, bind }: Candidate, existing: ListenerEntry, reason: string): void {
    this.#recorder?.recordConflict(bind, sourceOf(request), existing.source, reason);
  }
}

/**
 * Reports whether two protocols can share a listener. MySQL and MongoDB are server-first, which rules out protocol
 * detection.
 */
function canSharePort(incoming: Protocol, present: Protocol): boolean {
  const serverFirst: readonly Protocol[] = ["Mongo", "MySQL"];
  return incoming === present || (!serverFirst.includes(incoming) && !serverFirst.includes(present));
}
