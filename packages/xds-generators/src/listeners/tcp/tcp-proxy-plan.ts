import type { QueryContext } from "@istiod/incremental";
import type { RouteDestination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { mesh, scopedService, type ScopeRef, serviceInScope } from "@istiod/push-context";
import { isWildcardHost, keyOfId, type Protocol, type Service, splitKey } from "@istiod/service-discovery";
import { formatStatName } from "../../clusters/stat-name.js";
import { outboundClusterName } from "../../resource-names.js";

/** Where a connection's bytes go. */
export interface TcpProxyPlan {
  readonly statPrefix: string;
  /** One, or several with weights. */
  readonly clusters: readonly { readonly name: string; readonly weight: number }[];
  /** Where a single cluster is a subset. */
  readonly subset: string;
  /** Whose DestinationRule counts. */
  readonly rule?: { readonly host: string; readonly serviceNamespace: string };
  /** Whether the rule's tunnel counts. */
  readonly tunnels: boolean;
  readonly protocol: Protocol;
  /** The port listened on. */
  readonly port: number;
  /** A wildcard host whose connections go where their SNI says (ServiceEntry DYNAMIC_DNS). */
  readonly dynamicHost?: string;
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

/** Whether a service stands for hosts that are resolved as they are met. */
export function isDynamicDnsWildcard(service: Service): boolean {
  return service.resolution === "DynamicDNS" && isWildcardHost(service.hostname);
}

/** The namespace whose service a host stands for in the scope, which is not always the one that a listener is of: rules are found by that one. */
function namespaceInScope(q: QueryContext, scope: ScopeRef, { hostname, namespace }: Service): string {
  const scoped = q.call(serviceInScope, { scope, hostname });
  return scoped === undefined ? namespace : splitKey(keyOfId(scoped.service))[0];
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
