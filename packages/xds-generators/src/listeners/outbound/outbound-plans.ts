import { isIP } from "node:net";
import { fact, query, type QueryContext } from "@istiod/incremental";
import { CaptureMode } from "@istiod/istio-api/networking/v1alpha3/sidecar";
import {
  clientAddress,
  type EgressListener,
  features,
  interceptionMode,
  ipAddresses,
  ipMode,
  type Proxy,
  scopedService,
  scopeKey,
  type ScopeListener,
  type ScopeRef,
  servicesOf,
} from "@istiod/push-context";
import { type Endpoint, inlineEndpoints, isTcp, isUndeclared, parseProtocol } from "@istiod/service-discovery";
import { Claims, type LostClaim } from "../listener-conflicts.js";
import { canHavePort } from "../bindable-port.js";
import { localhosts, wildcards } from "../listener-address.js";
import { type Listening, OutboundListeners, type Wanted } from "./port-planner.js";
import { type OutboundPlan, seesRequests } from "./outbound-plan.js";
import { numberedEgressListeners, outboundPorts, servicesAtPort } from "./outbound-ports.js";
import type { ListenerPort } from "../tcp/tcp-destinations.js";

/**
 * The outbound listeners at one port, as decisions. Several services may want one address and port: HTTP ones share a listener,
 * others add chains to it as long as Envoy can tell them apart, and of what cannot be told apart the first stands.
 * Source: pilot/pkg/networking/core/listener.go, buildSidecarOutboundListeners.
 */
const outboundPlans = query(
  "outboundPlans",
  (q, at: { readonly scope: ScopeRef; readonly port: number }): readonly OutboundPlan[] => plansAt(q, at),
  {
    key: ({ scope, port }) => `${port} ${scopeKey(scope)}`,
  },
);

/** Connections to one port that a service, a route or an egress listener wanted and another one has. */
export const lostConnections = query(
  "lostConnections",
  (q, at: { readonly scope: ScopeRef; readonly port: number }): readonly LostClaim[] => {
    const claims = new Claims();
    plansAt(q, at, claims);
    return claims.lost;
  },
);

function plansAt(
  q: QueryContext,
  { scope, port }: { readonly scope: ScopeRef; readonly port: number },
  claims?: Claims,
): readonly OutboundPlan[] {
  const listeners = new OutboundListeners(q, claims);
  for (const { at, declared } of numberedEgressListeners(q, scope)) {
    const listening = listeningAt(q, declared);
    if (declared.port?.number === port)
      declaredListener(q, listeners, at, listening, {
        ...declared.port,
        protocol: parseProtocol(declared.port.protocol),
      });
    else if (declared.port === undefined) {
      listeners.lock();
      for (const { scoped, port: servicePort } of q.call(servicesAtPort, { ...at, port })) {
        const service = q.call(scopedService, scoped);
        if (service !== undefined)
          serviceListener(q, listeners, { at, scoped, service, port: servicePort, ...listening });
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

export const outboundPlansOfScope = query(
  "outboundPlansOfScope",
  (q, scope: ScopeRef): OutboundPlans => {
    const plans = q.call(outboundPorts, scope).flatMap((port) => q.call(outboundPlans, { scope, port }));
    return { ofBytes: plans.filter((plan) => !seesRequests(plan)), ofRequests: plans.filter(seesRequests) };
  },
  { key: scopeKey },
);

function listeningAt(q: QueryContext, { bind, captureMode }: EgressListener): Listening {
  const bindToPort =
    captureMode === CaptureMode.NONE || bind.startsWith("unix://") || q.ask(interceptionMode) === "NONE";
  return { binds: bind !== "" ? [bind] : bindToPort ? localhosts[q.ask(ipMode)] : [], bindToPort };
}

function declaredListener(
  q: QueryContext,
  listeners: OutboundListeners,
  at: ScopeListener,
  listening: Listening,
  port: ListenerPort,
): void {
  if (!mayListen(q, listening, port)) return;
  for (const scoped of q.call(servicesOf, at)) {
    const service = q.call(scopedService, scoped);
    if (service !== undefined && service.resolution !== "Alias")
      listeners.add({ at, scoped, service, port, declared: true, ...listening });
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
const isEndpointOf = fact(
  "isEndpointOf",
  (proxy: Proxy, at: PortOfService, q) => q.call(endpointAddresses, at)[proxy.ipAddresses[0] ?? ""] === true,
);

interface PortOfService {
  readonly service: string;
  readonly port: { readonly name: string; readonly number: number };
}

const endpointAddresses = query("endpointAddresses", (q, at: PortOfService): Readonly<Record<string, true>> =>
  Object.fromEntries(
    q
      .call(inlineEndpoints, at)
      .flatMap(({ addresses: [first] }: Endpoint) => (first === undefined ? [] : [[first, true as const]])),
  ),
);
