import type { QueryContext } from "@istiod/incremental";
import type { RouteDestination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import {
  mesh,
  type PolicyTarget,
  scopedService,
  type ScopeRef,
  serviceInScope,
  visibleAliases,
} from "@istiod/push-context";
import { isWildcardHost, keyOfId, type Protocol, type Service, splitKey } from "@istiod/service-discovery";
import { formatStatName } from "../../clusters/stat-name.js";
import { outboundClusterName } from "../../resource-names.js";

/** The destination of TCP connections. */
export interface TcpProxyPlan {
  readonly statPrefix: string;
  /** A single cluster without a weight, or weighted clusters. */
  readonly clusters: readonly { readonly name: string; readonly weight: number }[];
  /** The subset of a single cluster; empty for none. */
  readonly subset: string;
  /** The service whose DestinationRule applies. */
  readonly rule?: { readonly host: string; readonly serviceNamespace: string };
  /** The ports of services whose load balancers may hash connections. */
  readonly hashTargets: readonly PolicyTarget[];
  /** True if the rule's tunnel settings apply. */
  readonly tunnels: boolean;
  readonly protocol: Protocol;
  /** The listener's port. */
  readonly port: number;
  /** A wildcard host with DYNAMIC_DNS resolution, whose connections are forwarded to their SNI. */
  readonly dynamicHost?: string;
}

export interface ListenerPort {
  readonly number: number;
  readonly name: string;
  readonly protocol: Protocol;
}

/** Returns the proxy of a route of a VirtualService (`namespace/name`); undefined if it has no destinations. */
export function routeProxyPlan(
  q: QueryContext,
  scope: ScopeRef,
  routes: readonly RouteDestination[],
  virtualService: string,
  port: ListenerPort,
): TcpProxyPlan | undefined {
  const [first] = routes;
  if (first === undefined) return undefined;
  const weighted = routes.length === 1 ? routes : routes.filter(({ weight }) => weight > 0);
  const destinations = weighted.map((route) => resolveDestination(q, scope, route, port.number));
  const leading = resolveDestination(q, scope, first, port.number);
  const common = {
    ...(leading?.service && {
      rule: { host: leading.service.hostname, serviceNamespace: leading.service.namespace },
    }),
    hashTargets: policyTargets(destinations),
    tunnels: true,
    protocol: port.protocol,
    port: port.number,
  };
  if (routes.length === 1) {
    const name = clusterOf(leading);
    const subset = first.destination?.subset ?? "";
    return {
      ...common,
      statPrefix: outboundStatPrefix(q, name, leading?.service, port, subset),
      clusters: [{ name, weight: 0 }],
      subset,
    };
  }
  const [namespace, name] = virtualService.split("/");
  return {
    ...common,
    statPrefix: `${name}.${namespace}`,
    clusters: weighted.map(({ weight }, i) => ({ name: clusterOf(destinations[i]), weight })),
    subset: "",
  };
}

/** Returns the proxy of a service without a route: to the listener's port, or to the service's only port. */
export function serviceProxyPlan(q: QueryContext, scope: ScopeRef, service: Service, port: ListenerPort): TcpProxyPlan {
  const [only] = service.ports;
  const number = service.ports.length === 1 && only !== undefined ? only.number : port.number;
  const name = outboundClusterName(service.hostname, number);
  const rule = { host: service.hostname, serviceNamespace: namespaceInScope(q, scope, service), port: number };
  return {
    statPrefix: outboundStatPrefix(q, name, service, { number, name: "", protocol: port.protocol }),
    clusters: [{ name, weight: 0 }],
    subset: "",
    rule,
    hashTargets: [rule],
    tunnels: true,
    protocol: port.protocol,
    port: port.number,
    ...(isDynamicDnsWildcard(service) && { dynamicHost: service.hostname }),
  };
}

/** Returns the stat prefix by the mesh's pattern, or the given name if there is no pattern or it expands to nothing. */
export function outboundStatPrefix(
  q: QueryContext,
  name: string,
  service: Service | undefined,
  port: ListenerPort,
  subset = "",
): string {
  const pattern = mesh(q).outboundClusterStatName;
  // Envoy rejects a listener with an empty stat prefix.
  return (service && formatStatName(pattern, { service, port, subset })) || name;
}

/** Reports whether a service is a wildcard whose hosts are resolved on demand. */
export function isDynamicDnsWildcard(service: Service): boolean {
  return service.resolution === "DynamicDNS" && isWildcardHost(service.hostname);
}

/**
 * Returns the namespace whose service a host resolves to in the scope, which determines the DestinationRule. It may
 * differ from that of the listener's service.
 */
function namespaceInScope(q: QueryContext, scope: ScopeRef, { hostname, namespace }: Service): string {
  const scoped = q.call(serviceInScope, { scope, hostname });
  return scoped === undefined ? namespace : splitKey(keyOfId(scoped.service))[0];
}

/** A destination of TCP connections, with aliases resolved. */
interface TcpDestination {
  readonly host: string;
  readonly port: number;
  readonly subset: string;
  /** Absent if the host is not in the scope. */
  readonly service?: Service;
}

/** Returns what a route's destination resolves to for connections to a port; undefined if it names no host. */
function resolveDestination(
  q: QueryContext,
  scope: ScopeRef,
  { destination }: RouteDestination,
  listenerPort: number,
): TcpDestination | undefined {
  if (destination === undefined || destination.host === "") return undefined;
  const host = q.call(visibleAliases, scope.namespace)[destination.host] ?? destination.host;
  const scoped = q.call(serviceInScope, { scope, hostname: host });
  const service = scoped && q.call(scopedService, scoped);
  const [only] = service?.ports ?? [];
  const port = destination.port?.number ?? (service?.ports.length === 1 && only ? only.number : listenerPort);
  return { host, port, subset: destination.subset, ...(service && { service }) };
}

function clusterOf(destination: TcpDestination | undefined): string {
  return destination === undefined
    ? "UnknownService"
    : outboundClusterName(destination.host, destination.port, destination.subset);
}

/** Returns the ports whose policies apply, for destinations that are services of the scope. */
function policyTargets(destinations: readonly (TcpDestination | undefined)[]): readonly PolicyTarget[] {
  return destinations.flatMap((destination) =>
    destination?.service === undefined
      ? []
      : {
          host: destination.service.hostname,
          serviceNamespace: destination.service.namespace,
          port: destination.port,
          subset: destination.subset,
        },
  );
}
