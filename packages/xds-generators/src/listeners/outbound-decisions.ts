import { isIP } from "node:net";
import { fact, query, type QueryContext } from "@istiod/incremental";
import { CaptureMode } from "@istiod/istio-api/networking/v1alpha3/sidecar";
import {
  clientAddress,
  clientAddresses,
  type EgressListener,
  features,
  interceptionMode,
  ipAddresses,
  ipMode,
  type IpMode,
  type Proxy,
  scopedService,
  scopeKey,
  type ScopedService,
  type ScopeListener,
  type ScopeRef,
  servicesOf,
} from "@istiod/push-context";
import { type Endpoint, inlineEndpoints, isHttp, isTcp, isUndeclared, parseProtocol, type Protocol, type Service } from "@istiod/service-discovery";
import { type Claimant, Claims, type LostClaim } from "./connection-claims.js";
import { canHavePort } from "./bindable-port.js";
import { type ChainMatch, matchTheSame } from "./filter-chain-match.js";
import { localhosts, wildcards } from "./listener-address.js";
import { type ChainPlan, type HttpChainPlan, type OutboundPlan, outboundPlan, seesRequests } from "./outbound-plan.js";
import { numberedEgressListeners, outboundPorts, servicesAtPort } from "./outbound-ports.js";
import { tcpChains } from "./outbound-tcp-chains.js";
import { plaintextHttp } from "./sniffed-protocols.js";
import { isDynamic, type ListenerPort } from "./tcp-destinations.js";

/**
 * The outbound listeners at one port, as decisions. Several services may want one address and port: HTTP ones share a listener,
 * others add chains to it as long as Envoy can tell them apart, and of what cannot be told apart the first stands.
 * Source: pilot/pkg/networking/core/listener.go, buildSidecarOutboundListeners.
 */
const outboundPlans = query("outboundPlans", (q, at: { readonly scope: ScopeRef; readonly port: number }): readonly OutboundPlan[] => plansAt(q, at), {
  key: ({ scope, port }) => `${port} ${scopeKey(scope)}`,
});

/** Connections to one port that a service, a route or an egress listener wanted and another one has. */
export const lostConnections = query("lostConnections", (q, at: { readonly scope: ScopeRef; readonly port: number }): readonly LostClaim[] => {
  const claims = new Claims();
  plansAt(q, at, claims);
  return claims.lost;
});

function plansAt(q: QueryContext, { scope, port }: { readonly scope: ScopeRef; readonly port: number }, claims?: Claims): readonly OutboundPlan[] {
  const listeners = new OutboundListeners(q, claims);
  for (const { at, declared } of numberedEgressListeners(q, scope)) {
    const listening = listeningAt(q, declared);
    if (declared.port?.number === port) declaredListener(q, listeners, at, listening, { ...declared.port, protocol: parseProtocol(declared.port.protocol) });
    else if (declared.port === undefined) {
      listeners.lock();
      for (const { scoped, port: servicePort } of q.call(servicesAtPort, { ...at, port })) {
        const service = q.call(scopedService, scoped);
        if (service !== undefined) serviceListener(q, listeners, { at, scoped, service, port: servicePort, ...listening });
      }
    }
  }
  return listeners.plans;
}

/** The outbound listeners of a scope, port by port. */
export interface OutboundPlans {
  /** Those that see bytes only: they are the same for all workloads. */
  readonly ofBytes: readonly OutboundPlan[];
  /** Those that see requests, which they trace. */
  readonly ofRequests: readonly OutboundPlan[];
}

export const outboundPlansOfScope = query("outboundPlansOfScope", (q, scope: ScopeRef): OutboundPlans => {
  const plans = q.call(outboundPorts, scope).flatMap((port) => q.call(outboundPlans, { scope, port }));
  return { ofBytes: plans.filter((plan) => !seesRequests(plan)), ofRequests: plans.filter(seesRequests) };
}, { key: scopeKey });

interface Listening {
  /** Empty: by the service's address, or all addresses for HTTP. */
  readonly binds: readonly string[];
  readonly bindToPort: boolean;
}

interface Wanted extends Listening {
  readonly at: ScopeListener;
  readonly scoped: ScopedService;
  readonly service: Service;
  readonly port: ListenerPort;
  readonly destinations?: readonly string[];
  readonly ofPods?: boolean;
  /** The port is the egress listener's. */
  readonly declared?: true;
}

function listeningAt(q: QueryContext, { bind, captureMode }: EgressListener): Listening {
  const bindToPort = captureMode === CaptureMode.NONE || bind.startsWith("unix://") || q.ask(interceptionMode) === "NONE";
  return { binds: bind !== "" ? [bind] : bindToPort ? localhosts[q.ask(ipMode)] : [], bindToPort };
}

function declaredListener(q: QueryContext, listeners: OutboundListeners, at: ScopeListener, listening: Listening, port: ListenerPort): void {
  if (!mayListen(q, listening, port)) return;
  for (const scoped of q.call(servicesOf, at)) {
    const service = q.call(scopedService, scoped);
    if (service !== undefined && service.resolution !== "Alias") listeners.add({ at, scoped, service, port, declared: true, ...listening });
  }
}

function mayListen(q: QueryContext, { binds, bindToPort }: Listening, { number, protocol }: ListenerPort): boolean {
  return canHavePort(q, { port: number, protocol, bind: binds[0] ?? "", bindToPort, capturePortsTaken: true });
}

/** At the address of a service; for one without an address that is no HTTP, at those of its endpoints. */
function serviceListener(q: QueryContext, listeners: OutboundListeners, wanted: Wanted): void {
  const { binds, service, port } = wanted;
  if (!mayListen(q, wanted, port)) return;
  const headless =
    binds.length === 0 &&
    service.resolution === "Passthrough" &&
    (isTcp(port.protocol) || isUndeclared(port.protocol)) &&
    clientAddress(q, service) === "0.0.0.0";
  const at = { service: service.key, port: { name: port.name, number: port.number } };
  const found = headless ? q.call(inlineEndpoints, at) : [];
  if (!headless || (service.registry !== "Kubernetes" && found.length === 0 && service.selector === undefined)) {
    listeners.add(wanted);
    return;
  }
  const own = q.ask(isEndpointOf, at) ? q.ask(ipAddresses)[0] : undefined;
  for (const { addresses } of found) {
    if (!addresses.every((address) => isIP(address) !== 0) || addresses[0] === own) continue;
    if (features.headlessFilterChainListener(q) && isTcp(port.protocol)) {
      listeners.add({ ...wanted, binds: wildcards[q.ask(ipMode)], destinations: addresses, ofPods: true });
    } else {
      listeners.add({ ...wanted, binds: addresses });
    }
  }
}

/** Whether the client is an endpoint of a service: what it sends to itself leaves through no outbound listener. */
const isEndpointOf = fact("isEndpointOf", (proxy: Proxy, at: PortOfService, q) => q.call(endpointAddresses, at)[proxy.ipAddresses[0] ?? ""] === true);

interface PortOfService {
  readonly service: string;
  readonly port: { readonly name: string; readonly number: number };
}

const endpointAddresses = query("endpointAddresses", (q, at: PortOfService): Readonly<Record<string, true>> =>
  Object.fromEntries(q.call(inlineEndpoints, at).flatMap(({ addresses: [first] }: Endpoint) => (first === undefined ? [] : [[first, true as const]]))),
);

interface Entry {
  readonly binds: readonly string[];
  readonly bindToPort: boolean;
  readonly port: number;
  chains: readonly ChainPlan[];
  /** What the listener speaks by now; undeclared once it must detect it. */
  protocol: Protocol;
  locked: boolean;
  /** Who came first. */
  readonly by: Claimant;
}

/** The listeners at one port, by primary address. */
class OutboundListeners {
  readonly #entries = new Map<string, Entry>();

  constructor(
    private readonly q: QueryContext,
    private readonly claims: Claims | undefined,
  ) {}

  get plans(): readonly OutboundPlan[] {
    return [...this.#entries.values()].map(({ binds, bindToPort, port, chains }) => outboundPlan({ binds, bindToPort, port, chains }));
  }

  /** What there is stays as it is: later egress listeners add nothing to it. */
  lock(): void {
    for (const entry of this.#entries.values()) entry.locked = true;
  }

  add(wanted: Wanted): void {
    const { q, claims } = this;
    const { protocol } = wanted.port;
    if (protocol === "UDP") return;
    const all = wildcards[q.ask(ipMode)];
    const place = isHttp(protocol) ? { binds: wanted.binds.length === 0 ? all : wanted.binds, destinations: [] } : ownPlace(q, wanted, all);
    const [bind = ""] = place.binds;
    const current = this.#entries.get(bind);
    if (current?.locked === true) {
      claims?.lose(bind, claimOf(wanted), current.by, `a Sidecar's egress listener has ${bind}:${wanted.port.number} for the hosts that it names`);
      return;
    }
    const target = { ...wanted, bind, destinations: place.destinations, ofPods: wanted.ofPods === true };
    const http = (sniffed: boolean): HttpChainPlan => {
      const chain = httpChain(q, wanted, bind, all[0], sniffed);
      claims?.made(chain, claimOf(wanted));
      return chain;
    };
    const tcp = (): readonly ChainPlan[] => tcpChains(q, target, claims);
    const cannotMix = (): void => claims?.lose(bind, claimOf(wanted), current?.by, `at ${bind}:${wanted.port.number} it speaks ${current?.protocol}, which ${protocol} cannot share a port with: its servers speak first`);

    if (protocol === "HTTP_PROXY") this.#set(bind, wanted, place.binds, [http(false)], protocol);
    else if (isHttp(protocol)) {
      if (current === undefined) this.#set(bind, wanted, place.binds, [http(bind === all[0])], bind === all[0] ? "UnsupportedProtocol" : protocol);
      else if (isTcp(current.protocol)) {
        if (!canMix(protocol, current.protocol)) return cannotMix();
        this.#merge(current, [http(bind === all[0])]);
        current.protocol = "UnsupportedProtocol";
      }
    } else if (current !== undefined && !canMix(protocol, current.protocol)) return cannotMix();
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

  #set(bind: string, wanted: Wanted, binds: readonly string[], chains: readonly ChainPlan[], protocol: Protocol): void {
    const { bindToPort, port } = wanted;
    this.#entries.set(bind, { binds, bindToPort, port: port.number, chains, protocol, locked: false, by: claimOf(wanted) });
  }

  /** Adds chains, but for those that Envoy could not tell from one that is there. */
  #merge(entry: Entry, chains: readonly ChainPlan[]): void {
    const merged = [...entry.chains];
    for (const chain of chains) {
      const same = merged.find((other) => matchTheSame(other.match, chain.match));
      if (same === undefined) merged.push(chain);
      else if (chain.kind === "tcp") this.claims?.lose(entry.binds[0] ?? "", this.claims.maker(chain), this.claims.maker(same), `connections to ${entry.binds[0] ?? ""}:${entry.port} cannot be told apart`);
    }
    entry.chains = merged;
  }
}

/** An egress listener with a port stands for itself, whichever service it leads to. */
function claimOf({ at, declared, service, port }: Wanted): Claimant {
  return declared === true ? { kind: "egress", sidecar: at.scope.sidecar ?? "", listener: at.listener } : { kind: "service", id: service.id, port: port.number };
}

/** Where connections to a service that are no HTTP are taken: at its address; at all addresses, by range, where it has a range. */
function ownPlace(q: QueryContext, { binds, service, destinations = [] }: Wanted, all: readonly string[]): { readonly binds: readonly string[]; readonly destinations: readonly string[] } {
  if (binds.length > 0) return { binds, destinations };
  const declared = clientAddress(q, service);
  const extra = clientAddresses(q, service).slice(1);
  if (declared.includes("/")) return { binds: all, destinations: [declared, ...extra] };
  if (service.registry !== "External" || declared !== "0.0.0.0") return { binds: [declared, ...extra], destinations };
  const mode: IpMode = q.ask(ipMode);
  return { binds: mode === "IPv6" ? ["::", ...extra] : mode === "Dual" ? [declared, ...extra, "::"] : [declared, ...extra], destinations };
}

function httpChain(q: QueryContext, { service, port }: Wanted, bind: string, all: string, sniffed: boolean): HttpChainPlan {
  const undeclared = !isHttp(port.protocol);
  const match: ChainMatch = sniffed ? { applicationProtocols: plaintextHttp(q), transportProtocol: "raw_buffer" } : {};
  const ofService = undeclared && bind !== all;
  return {
    kind: "http",
    match,
    routeName: port.number === 0 ? bind : ofService ? `${service.hostname}:${port.number}` : String(port.number),
    protocol: port.protocol,
    ...(isDynamic(service) && { dynamicHost: service.hostname }),
  };
}

/** MySQL and MongoDB begin with the server's words, which no detection survives. */
function canMix(incoming: Protocol, present: Protocol): boolean {
  const alone: readonly Protocol[] = ["Mongo", "MySQL"];
  return incoming === present || (!alone.includes(incoming) && !alone.includes(present));
}
