import type { QueryContext } from "@istiod/incremental";
import { ipMode } from "@istiod/push-context";
import { isHttp, isTcp, type Protocol } from "@istiod/service-discovery";
import { clusterIpRouteName, matchedClusterIps } from "../../cluster-ip-matching.js";
import { canBindToPort } from "../bindable-port.js";
import { ClaimedMatches, supportedMatch } from "../filter-chain-match.js";
import { canonicalAddress, listenerName, wildcards } from "../listener-address.js";
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
  readonly matches: ClaimedMatches<ChainSource | undefined>;
  /** Addresses of services by which routes of HTTP requests are selected, instead of by hosts. */
  readonly clusterIps: Set<string>;
  /** The listener's protocol; undeclared once it must be detected. */
  protocol: Protocol;
  locked: boolean;
  /** The source of the first request. */
  readonly source: ChainSource;
}

/**
 * Plans the outbound listeners at one port, keyed by primary address in canonical form. HTTP services share a listener,
 * other services add filter chains to it as long as Envoy can distinguish them, and of chains that overlap the first is
 * kept.
 */
export class PortPlanner {
  readonly #q: QueryContext;
  readonly #recorder: ConflictRecorder | undefined;
  readonly #entries = new Map<string, ListenerEntry>();
  /** Sources of the listeners with additional addresses, by address. */
  readonly #additional = new Map<string, ChainSource>();

  constructor(q: QueryContext, recorder: ConflictRecorder | undefined) {
    this.#q = q;
    this.#recorder = recorder;
  }

  get plans(): readonly OutboundPlan[] {
    return [...this.#entries.values()].flatMap((entry) => {
      const { bindToPort, port } = entry;
      const chains = [...clusterIpChains(entry), ...entry.chains];
      return chains.length === 0 ? [] : [outboundPlan({ binds: this.#distinctBinds(entry), bindToPort, port, chains })];
    });
  }

  /**
   * Returns the addresses of a listener without additional ones that another listener has: Envoy rejects the second
   * listener of an address.
   */
  #distinctBinds({ binds: [primary = "", ...others], port, source }: ListenerEntry): readonly string[] {
    const own = new Set([canonicalAddress(primary)]);
    const distinct = others.filter((bind) => {
      const canonical = canonicalAddress(bind);
      if (own.has(canonical)) return false;
      const owner = this.#entries.get(canonical)?.source ?? this.#additional.get(canonical);
      if (owner !== undefined && owner !== source) {
        this.#recorder?.recordConflict(primary, source, owner, `both have the address ${listenerName(bind, port)}`);
        return false;
      }
      own.add(canonical);
      this.#additional.set(canonical, source);
      return true;
    });
    return [primary, ...distinct];
  }

  /** Locks all present listeners: later egress listeners add nothing to them. */
  lock(): void {
    for (const entry of this.#entries.values()) entry.locked = true;
  }

  add(request: ListenerRequest): void {
    const { protocol, number } = request.port;
    if (protocol === "UDP") return;
    const candidate = this.#candidate(request);
    if (!this.#canBind(candidate)) return;
    const address = `${candidate.bind}:${number}`;
    const existing = this.#entries.get(canonicalAddress(candidate.bind));
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

  /** Reports whether a listener can have an address that follows from the service, beside those of the proxy. */
  #canBind({ request, bind }: Candidate): boolean {
    const { bindToPort, port } = request;
    const binding = { port: port.number, protocol: port.protocol, bind, bindToPort, excludesCapturePorts: true };
    if (canBindToPort(this.#q, binding)) return true;
    const reason = `the proxy itself listens on ${bind}:${port.number}; give the service an address`;
    this.#recorder?.recordOmission(bind, sourceOf(request), reason);
    return false;
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
    if (!sniffed) return;
    const entry = this.#entries.get(canonicalAddress(candidate.bind));
    for (const address of matchedClusterIps(this.#q, candidate.request.service)) entry?.clusterIps.add(address);
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
      clusterIps: new Set(),
      protocol,
      locked: false,
      source,
    };
    this.#entries.set(canonicalAddress(bind), entry);
    this.#merge(entry, chains);
  }

  /** Adds chains to a listener, except those with a match that Envoy would reject as unsupported or duplicate. */
  #merge(entry: ListenerEntry, chains: readonly ChainPlan[]): void {
    const recorder = this.#recorder;
    const [bind = ""] = entry.binds;
    const merged = [...entry.chains];
    for (const planned of chains) {
      const source = recorder?.sourceOf(planned);
      const { match, unsupported } = supportedMatch(planned.match);
      recorder?.recordUnsupported(bind, source, unsupported);
      if (match === undefined) continue;
      const claim = entry.matches.claim(match, source);
      if (planned.kind === "tcp")
        for (const { owner, values } of claim.lost)
          recorder?.recordSameMatch({ bind, port: entry.port, values }, source, owner);
      if (claim.match === undefined) continue;
      const chain = claim.match === planned.match ? planned : { ...planned, match: claim.match };
      if (source !== undefined) recorder?.recordSource(chain, source);
      merged.push(chain);
    }
    entry.chains = merged;
  }

  #ignore({ request }: Candidate, existing: ListenerEntry, reason: string): void {
    this.#recorder?.recordConflict(existing.binds[0] ?? "", sourceOf(request), existing.source, reason);
  }
}

/** Returns the chain for HTTP requests to addresses of services, if routes are selected by them. */
function clusterIpChains({ chains, clusterIps }: ListenerEntry): readonly ChainPlan[] {
  const http = chains.find((chain): chain is HttpChainPlan => chain.kind === "http");
  if (http === undefined || clusterIps.size === 0) return [];
  const match = { ...http.match, destinations: [...clusterIps].sort() };
  return [{ ...http, match, routeName: clusterIpRouteName(http.routeName) }];
}

/**
 * Reports whether two protocols can share a listener. MySQL and MongoDB are server-first, which rules out protocol
 * detection.
 */
function canSharePort(incoming: Protocol, present: Protocol): boolean {
  const serverFirst: readonly Protocol[] = ["Mongo", "MySQL"];
  return incoming === present || (!serverFirst.includes(incoming) && !serverFirst.includes(present));
}
