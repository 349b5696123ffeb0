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
  listenerServices,
} from "@istiod/push-context";
import type { Failure } from "@istiod/resources";
import {
  type Endpoint,
  endpointSource,
  type EndpointSource,
  inlineEndpoints,
  isTcp,
  isUndeclared,
  parseProtocol,
} from "@istiod/service-discovery";
import { attempt, serviceObject } from "../../attempt.js";
import { unixPrefix } from "../../envoy/address.js";
import { canBindToPort } from "../bindable-port.js";
import { localhosts, wildcards } from "../listener-address.js";
import { ConflictRecorder, type ListenerConflict } from "../listener-conflicts.js";
import type { ListenerPort } from "../tcp/tcp-proxy-plan.js";
import type { ListenerBinding, ListenerRequest } from "./listener-request.js";
import { hasHttpChains, type OutboundPlan } from "./outbound-plan.js";
import { numberedEgressListeners, outboundPorts, servicesAtPort } from "./outbound-ports.js";
import { PortPlanner } from "./port-planner.js";

/**
 * The plans of the outbound listeners at one port. Several services may share an address and port: HTTP services share
 * the listener, others add filter chains as long as Envoy can distinguish them, and of equivalent chains the first is
 * kept.
 * Source: pilot/pkg/networking/core/listener.go, buildSidecarOutboundListeners.
 */
const outboundPlans = query(
  "outboundPlans",
  (q, at: { readonly scope: ScopeRef; readonly port: number }): PortPlans => {
    const failures: Failure[] = [];
    return { plans: planPort(q, at, failures), failures };
  },
  {
    key: ({ scope, port }) => `${port} ${scopeKey(scope)}`,
  },
);

/**
 * Services, routes and egress listeners that are ignored at one port because an existing chain matches the same
 * connections.
 */
export const outboundListenerConflicts = query(
  "outboundListenerConflicts",
  (q, at: { readonly scope: ScopeRef; readonly port: number }): readonly ListenerConflict[] => {
    const recorder = new ConflictRecorder();
    planPort(q, at, [], recorder);
    return recorder.conflicts;
  },
);

function planPort(
  q: QueryContext,
  { scope, port }: { readonly scope: ScopeRef; readonly port: number },
  failures: Failure[],
  recorder?: ConflictRecorder,
): readonly OutboundPlan[] {
  const planner = new PortPlanner(q, recorder);
  for (const { at, declared } of numberedEgressListeners(q, scope)) {
    const binding = bindingOf(q, declared);
    if (declared.port?.number === port)
      addEgressPort(q, planner, at, binding, {
        ...declared.port,
        protocol: parseProtocol(declared.port.protocol),
      });
    else if (declared.port === undefined) {
      planner.lock();
      for (const { scoped, port: servicePort } of q.call(servicesAtPort, { ...at, port })) {
        attempt(
          () => {
            const service = q.call(scopedService, scoped);
            const request = service && { at, scoped, service, port: servicePort, ...binding };
            if (request !== undefined) addServicePort(q, planner, request);
          },
          failures,
          () => ({ name: `_${port}`, match: "end", objects: [serviceObject(scoped.service)] }),
        );
      }
    }
  }
  return planner.plans;
}

interface PortPlans {
  readonly plans: readonly OutboundPlan[];
  /** Services without listeners and chains, because theirs could not be planned. */
  readonly failures: readonly Failure[];
}

/** The plans of a scope's outbound listeners, by port. */
interface OutboundPlans {
  /** Plans without HTTP chains; they are the same for all workloads. */
  readonly tcpOnly: readonly OutboundPlan[];
  /** Plans with HTTP chains, which have tracing. */
  readonly withHttp: readonly OutboundPlan[];
  /** Ports whose listeners could not be planned. */
  readonly failures: readonly Failure[];
}

export const scopeOutboundPlans = query(
  "scopeOutboundPlans",
  (q, scope: ScopeRef): OutboundPlans => {
    const failures: Failure[] = [];
    const plans = q.call(outboundPorts, scope).flatMap((port) => {
      const at = attempt(
        () => q.call(outboundPlans, { scope, port }),
        failures,
        () => ({ name: `_${port}`, match: "end", objects: [] }),
      );
      if (at !== undefined) failures.push(...at.failures);
      return at?.plans ?? [];
    });
    return { tcpOnly: plans.filter((plan) => !hasHttpChains(plan)), withHttp: plans.filter(hasHttpChains), failures };
  },
  { key: scopeKey },
);

function bindingOf(q: QueryContext, { bind, captureMode }: EgressListener): ListenerBinding {
  const bindToPort =
    captureMode === CaptureMode.NONE || bind.startsWith(unixPrefix) || q.ask(interceptionMode) === "NONE";
  return { binds: bind !== "" ? [bind] : bindToPort ? localhosts[q.ask(ipMode)] : [], bindToPort };
}

function addEgressPort(
  q: QueryContext,
  planner: PortPlanner,
  at: ScopeListener,
  binding: ListenerBinding,
  port: ListenerPort,
): void {
  if (!isBindable(q, binding, port)) return;
  for (const scoped of q.call(listenerServices, at)) {
    const service = q.call(scopedService, scoped);
    if (service !== undefined && service.resolution !== "Alias")
      planner.add({ at, scoped, service, port, declared: true, ...binding });
  }
}

function isBindable(
  q: QueryContext,
  { binds, bindToPort }: ListenerBinding,
  { number, protocol }: ListenerPort,
): boolean {
  return canBindToPort(q, { port: number, protocol, bind: binds[0] ?? "", bindToPort, excludesCapturePorts: true });
}

/**
 * Requests listeners at the address of a service or, for a headless service that is not HTTP, at those of its
 * endpoints.
 */
function addServicePort(q: QueryContext, planner: PortPlanner, request: ListenerRequest): void {
  const { binds, service, port } = request;
  if (!isBindable(q, request, port)) return;
  const headless =
    binds.length === 0 &&
    service.resolution === "Passthrough" &&
    (isTcp(port.protocol) || isUndeclared(port.protocol)) &&
    clientAddress(q, service) === "0.0.0.0";
  const at = { ...endpointSource(service), port: { name: port.name, number: port.number } };
  const found = headless ? q.call(inlineEndpoints, at) : [];
  if (!headless || (service.registry !== "Kubernetes" && found.length === 0 && service.selector === undefined)) {
    planner.add(request);
    return;
  }
  const own = q.ask(isEndpointOf, at) ? q.ask(ipAddresses)[0] : undefined;
  for (const { addresses } of found) {
    if (!addresses.every((address) => isIP(address) !== 0) || addresses[0] === own) continue;
    if (features.headlessFilterChainListener(q) && isTcp(port.protocol)) {
      planner.add({ ...request, binds: wildcards[q.ask(ipMode)], destinations: addresses, isPodAddress: true });
    } else {
      planner.add({ ...request, binds: addresses });
    }
  }
}

/**
 * Reports whether the client is an endpoint of a service. Connections of a workload to itself pass no outbound
 * listener.
 */
const isEndpointOf = fact(
  "isEndpointOf",
  (proxy: Proxy, at: ServicePortRef, q) => q.call(endpointAddresses, at)[proxy.ipAddresses[0] ?? ""] === true,
);

interface ServicePortRef extends EndpointSource {
  readonly port: { readonly name: string; readonly number: number };
}

const endpointAddresses = query("endpointAddresses", (q, at: ServicePortRef): Readonly<Record<string, true>> =>
  Object.fromEntries(
    q
      .call(inlineEndpoints, at)
      .flatMap(({ addresses: [first] }: Endpoint) => (first === undefined ? [] : [[first, true as const]])),
  ),
);
