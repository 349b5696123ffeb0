import { query, type QueryContext } from "@istiod/incremental";
import type { RouteDestination, TCPRoute, TLSRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import {
  hostsMeet,
  listenerKey,
  mesh,
  type ScopeListener,
  scopedService,
  type ScopeRef,
  serviceInScope,
  virtualService,
  virtualServicesOf,
} from "@istiod/push-context";
import { isWildcardHost, keyOfId, type Protocol, type Service, splitKey } from "@istiod/service-discovery";
import { formatStatName } from "../../clusters/stat-name.js";
import { outboundClusterName } from "../../resource-names.js";
import type { TcpProxyPlan } from "../outbound/outbound-plan.js";

/** The routes of a VirtualService that are no HTTP routes. */
export interface TcpAndTlsRoutes {
  readonly key: string;
  readonly hosts: readonly string[];
  readonly tcp: readonly TCPRoute[];
  readonly tls: readonly TLSRoute[];
}

/** The TCP and TLS routes of a VirtualService; undefined where it has none. A change of its HTTP routes changes nothing here. */
export const tcpAndTlsRoutes = query("tcpAndTlsRoutes", (q, key: string): TcpAndTlsRoutes | undefined => {
  const spec = q.call(virtualService, key)?.spec;
  return spec === undefined || (spec.tcp.length === 0 && spec.tls.length === 0)
    ? undefined
    : { key, hosts: spec.hosts, tcp: spec.tcp, tls: spec.tls };
});

/** The VirtualServices of an egress listener that have TCP or TLS routes, in order of precedence. */
const tcpAndTlsVirtualServices = query(
  "tcpAndTlsVirtualServices",
  (q, at: ScopeListener): readonly TcpAndTlsRoutes[] =>
    q.call(virtualServicesOf, at).flatMap((key) => q.call(tcpAndTlsRoutes, key) ?? []),
  { key: listenerKey },
);

/** Those of them that are for a host. */
export function tcpAndTlsRoutesFor(q: QueryContext, at: ScopeListener, hostname: string): readonly TcpAndTlsRoutes[] {
  return q.call(tcpAndTlsVirtualServices, at).filter(({ hosts }) => hosts.some((host) => hostsMeet(host, hostname)));
}

export interface ListenerPort {
  readonly number: number;
  readonly name: string;
  readonly protocol: Protocol;
}

/** Where a route of a VirtualService (`namespace/name`) sends what comes to a port; undefined for one without destinations. */
export function routeProxyPlan(
  q: QueryContext,
  scope: ScopeRef,
  routes: readonly RouteDestination[],
  from: string,
  port: ListenerPort,
): TcpProxyPlan | undefined {
  const [first] = routes;
  if (first === undefined) return undefined;
  const service = destinationService(q, scope, first);
  const common = {
    ...(service && { rule: { host: service.hostname, serviceNamespace: service.namespace } }),
    tunnels: true,
    protocol: port.protocol,
    port: port.number,
  };
  if (routes.length === 1) {
    const name = destinationClusterName(first, service, port.number);
    const subset = first.destination?.subset ?? "";
    return {
      ...common,
      statPrefix: outboundStatPrefix(q, name, service, port, subset),
      clusters: [{ name, weight: 0 }],
      subset,
    };
  }
  const [namespace, name] = from.split("/");
  return {
    ...common,
    statPrefix: `${name}.${namespace}`,
    clusters: routes.flatMap((route) =>
      route.weight > 0
        ? [
            {
              name: destinationClusterName(route, destinationService(q, scope, route), port.number),
              weight: route.weight,
            },
          ]
        : [],
    ),
    subset: "",
  };
}

/** Where a service's own connections go, without a route: to the port listened on, or to the only port of the service. */
export function serviceProxyPlan(q: QueryContext, scope: ScopeRef, service: Service, port: ListenerPort): TcpProxyPlan {
  const [only] = service.ports;
  const number = service.ports.length === 1 && only !== undefined ? only.number : port.number;
  const name = outboundClusterName(service.hostname, number);
  return {
    statPrefix: outboundStatPrefix(q, name, service, { number, name: "", protocol: port.protocol }),
    clusters: [{ name, weight: 0 }],
    subset: "",
    rule: { host: service.hostname, serviceNamespace: namespaceInScope(q, scope, service) },
    tunnels: true,
    protocol: port.protocol,
    port: port.number,
    ...(isDynamicDnsWildcard(service) && { dynamicHost: service.hostname }),
  };
}

/** The namespace whose service a host stands for in the scope, which is not always the one that a listener is of: rules are found by that one. */
function namespaceInScope(q: QueryContext, scope: ScopeRef, { hostname, namespace }: Service): string {
  const scoped = q.call(serviceInScope, { scope, hostname });
  return scoped === undefined ? namespace : splitKey(keyOfId(scoped.service))[0];
}

/** Whether a service stands for hosts that are resolved as they are met. */
export function isDynamicDnsWildcard(service: Service): boolean {
  return service.resolution === "DynamicDNS" && isWildcardHost(service.hostname);
}

/** The name of statistics by the mesh's pattern; the given one where there is no pattern. */
export function outboundStatPrefix(
  q: QueryContext,
  name: string,
  service: Service | undefined,
  port: ListenerPort,
  subset = "",
): string {
  const pattern = mesh(q).outboundClusterStatName;
  return pattern === "" || service === undefined ? name : formatStatName(pattern, { service, port, subset });
}

function destinationService(q: QueryContext, scope: ScopeRef, { destination }: RouteDestination): Service | undefined {
  const scoped = q.call(serviceInScope, { scope, hostname: destination?.host ?? "" });
  return scoped && q.call(scopedService, scoped);
}

function destinationClusterName(
  { destination }: RouteDestination,
  service: Service | undefined,
  listenerPort: number,
): string {
  if (destination === undefined || destination.host === "") return "UnknownService";
  const [only] = service?.ports ?? [];
  const port = destination.port?.number ?? (service?.ports.length === 1 && only ? only.number : listenerPort);
  return outboundClusterName(service?.externalName || destination.host, port, destination.subset);
}
