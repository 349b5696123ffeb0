import type { QueryContext } from "@istiod/incremental";
import {
  clientAddress,
  clientAddresses,
  ipMode,
  type IpMode,
  type ScopedService,
  type ScopeListener,
} from "@istiod/push-context";
import { isHttp, isTcp, type Protocol, type Service } from "@istiod/service-discovery";
import type { ChainSource, ConflictRecorder } from "../listener-conflicts.js";
import { type ChainMatch, areEquivalentMatches } from "../filter-chain-match.js";
import { wildcards } from "../listener-address.js";
import { type ChainPlan, type HttpChainPlan, type OutboundPlan, outboundPlan } from "./outbound-plan.js";
import { tcpChainPlans } from "./tcp-chain-plans.js";
import { plaintextHttpProtocols } from "../sniffed-protocols.js";
import { isDynamicDnsWildcard, type ListenerPort } from "../tcp/tcp-destinations.js";

/** Where an egress listener of a Sidecar takes connections. */
export interface ListenerBinding {
  /** Empty: by the service's address, or all addresses for HTTP. */
  readonly binds: readonly string[];
  readonly bindToPort: boolean;
}

/** What a service, or an egress listener for a service, wants at a port. */
export interface ListenerRequest extends ListenerBinding {
  readonly at: ScopeListener;
  readonly scoped: ScopedService;
  readonly service: Service;
  readonly port: ListenerPort;
  readonly destinations?: readonly string[];
  readonly isPodAddress?: boolean;
  /** The port is the egress listener's. */
  readonly declared?: true;
}

interface ListenerEntry {
  readonly binds: readonly string[];
  readonly bindToPort: boolean;
  readonly port: number;
  chains: readonly ChainPlan[];
  /** What the listener speaks by now; undeclared once it must detect it. */
  protocol: Protocol;
  locked: boolean;
  /** Who came first. */
  readonly source: ChainSource;
}

/** The listeners at one port, by primary address. */
export class PortPlanner {
  readonly #entries = new Map<string, ListenerEntry>();

  constructor(
    private readonly q: QueryContext,
    private readonly claims: ConflictRecorder | undefined,
  ) {}

  get plans(): readonly OutboundPlan[] {
    return [...this.#entries.values()].map(({ binds, bindToPort, port, chains }) =>
      outboundPlan({ binds, bindToPort, port, chains }),
    );
  }

  /** What there is stays as it is: later egress listeners add nothing to it. */
  lock(): void {
    for (const entry of this.#entries.values()) entry.locked = true;
  }

  add(wanted: ListenerRequest): void {
    const { q, claims } = this;
    const { protocol } = wanted.port;
    if (protocol === "UDP") return;
    const all = wildcards[q.ask(ipMode)];
    const place = isHttp(protocol)
      ? { binds: wanted.binds.length === 0 ? all : wanted.binds, destinations: [] }
      : serviceBinds(q, wanted, all);
    const [bind = ""] = place.binds;
    const current = this.#entries.get(bind);
    if (current?.locked === true) {
      claims?.recordConflict(
        bind,
        sourceOf(wanted),
        current.source,
        `a Sidecar's egress listener has ${bind}:${wanted.port.number} for the hosts that it names`,
      );
      return;
    }
    const target = { ...wanted, bind, destinations: place.destinations, isPodAddress: wanted.isPodAddress === true };
    const http = (sniffed: boolean): HttpChainPlan => {
      const chain = httpChain(q, wanted, bind, all[0], sniffed);
      claims?.recordSource(chain, sourceOf(wanted));
      return chain;
    };
    const tcp = (): readonly ChainPlan[] => tcpChainPlans(q, target, claims);
    const cannotMix = (): void =>
      claims?.recordConflict(
        bind,
        sourceOf(wanted),
        current?.source,
        `at ${bind}:${wanted.port.number} it speaks ${current?.protocol}, which ${protocol} cannot share a port with: its servers speak first`,
      );

    if (protocol === "HTTP_PROXY") this.#set(bind, wanted, place.binds, [http(false)], protocol);
    else if (isHttp(protocol)) {
      if (current === undefined)
        this.#set(
          bind,
          wanted,
          place.binds,
          [http(bind === all[0])],
          bind === all[0] ? "UnsupportedProtocol" : protocol,
        );
      else if (isTcp(current.protocol)) {
        if (!canSharePort(protocol, current.protocol)) return cannotMix();
        this.#merge(current, [http(bind === all[0])]);
        current.protocol = "UnsupportedProtocol";
      }
    } else if (current !== undefined && !canSharePort(protocol, current.protocol)) return cannotMix();
    else if (isTcp(protocol)) {
      if (current === undefined) this.#set(bind, wanted, place.binds, tcp(), protocol);
      else {
        this.#merge(current, tcp());
        if (isHttp(current.protocol)) current.protocol = "UnsupportedProtocol";
      }
    } else if (current === undefined || isHttp(current.protocol)) {
      this.#set(bind, wanted, place.binds, [...tcp(), http(true)], protocol);
    } else if (isTcp(current.protocol)) {
      this.#merge(current, [...tcp(), http(true)]);
      current.protocol = "UnsupportedProtocol";
    } else this.#merge(current, tcp());
  }

  #set(
    bind: string,
    wanted: ListenerRequest,
    binds: readonly string[],
    chains: readonly ChainPlan[],
    protocol: Protocol,
  ): void {
    const { bindToPort, port } = wanted;
    this.#entries.set(bind, {
      binds,
      bindToPort,
      port: port.number,
      chains,
      protocol,
      locked: false,
      source: sourceOf(wanted),
    });
  }

  /** Adds chains, but for those that Envoy could not tell from one that is there. */
  #merge(entry: ListenerEntry, chains: readonly ChainPlan[]): void {
    const merged = [...entry.chains];
    for (const chain of chains) {
      const same = merged.find((other) => areEquivalentMatches(other.match, chain.match));
      if (same === undefined) merged.push(chain);
      else if (chain.kind === "tcp")
        this.claims?.recordConflict(
          entry.binds[0] ?? "",
          this.claims.sourceOf(chain),
          this.claims.sourceOf(same),
          `connections to ${entry.binds[0] ?? ""}:${entry.port} cannot be told apart`,
        );
    }
    entry.chains = merged;
  }
}

/** An egress listener with a port stands for itself, whichever service it leads to. */
function sourceOf({ at, declared, service, port }: ListenerRequest): ChainSource {
  return declared === true
    ? { kind: "egress", sidecar: at.scope.sidecar ?? "", listener: at.listener }
    : { kind: "service", id: service.id, port: port.number };
}

/** Where connections to a service that are no HTTP are taken: at its address; at all addresses, by range, where it has a range. */
function serviceBinds(
  q: QueryContext,
  { binds, service, destinations = [] }: ListenerRequest,
  all: readonly string[],
): { readonly binds: readonly string[]; readonly destinations: readonly string[] } {
  if (binds.length > 0) return { binds, destinations };
  const declared = clientAddress(q, service);
  const extra = clientAddresses(q, service).slice(1);
  if (declared.includes("/")) return { binds: all, destinations: [declared, ...extra] };
  if (service.registry !== "External" || declared !== "0.0.0.0") return { binds: [declared, ...extra], destinations };
  const mode: IpMode = q.ask(ipMode);
  return {
    binds: mode === "IPv6" ? ["::", ...extra] : mode === "Dual" ? [declared, ...extra, "::"] : [declared, ...extra],
    destinations,
  };
}

function httpChain(
  q: QueryContext,
  { service, port }: ListenerRequest,
  bind: string,
  all: string,
  sniffed: boolean,
): HttpChainPlan {
  const undeclared = !isHttp(port.protocol);
  const match: ChainMatch = sniffed
    ? { applicationProtocols: plaintextHttpProtocols(q), transportProtocol: "raw_buffer" }
    : {};
  const ofService = undeclared && bind !== all;
  return {
    kind: "http",
    match,
    routeName: port.number === 0 ? bind : ofService ? `${service.hostname}:${port.number}` : String(port.number),
    protocol: port.protocol,
    ...(isDynamicDnsWildcard(service) && { dynamicHost: service.hostname }),
  };
}

/** MySQL and MongoDB begin with the server's words, which no detection survives. */
function canSharePort(incoming: Protocol, present: Protocol): boolean {
  const alone: readonly Protocol[] = ["Mongo", "MySQL"];
  return incoming === present || (!alone.includes(incoming) && !alone.includes(present));
}
