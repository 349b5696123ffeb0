import {
  clusterType,
  endpointType,
  extensionConfigType,
  listenerType,
  routeType,
  runtimeType,
  scopedRouteType,
  secretType,
  virtualHostType,
} from "@istiod/resources";
import type { DiscoveryMethod } from "./call.js";

const single: readonly (readonly [service: string, resource: string, typeUrl: string])[] = [
  ["cluster.v3.ClusterDiscoveryService", "Clusters", clusterType],
  ["endpoint.v3.EndpointDiscoveryService", "Endpoints", endpointType],
  ["listener.v3.ListenerDiscoveryService", "Listeners", listenerType],
  ["route.v3.RouteDiscoveryService", "Routes", routeType],
  ["route.v3.ScopedRoutesDiscoveryService", "ScopedRoutes", scopedRouteType],
  ["secret.v3.SecretDiscoveryService", "Secrets", secretType],
  ["runtime.v3.RuntimeDiscoveryService", "Runtime", runtimeType],
  ["extension.v3.ExtensionConfigDiscoveryService", "ExtensionConfigs", extensionConfigType],
];

/** The discovery services by path: the aggregated service and the single-type services. */
export const discoveryMethods: ReadonlyMap<string, DiscoveryMethod> = new Map([
  ...both("discovery.v3.AggregatedDiscoveryService", "AggregatedResources", undefined),
  ...single.flatMap((row) => both(...row)),
  // The virtual host discovery service is delta only.
  [
    "/envoy.service.route.v3.VirtualHostDiscoveryService/DeltaVirtualHosts",
    { variant: "delta", typeUrl: virtualHostType },
  ],
]);

function both(service: string, resource: string, typeUrl: string | undefined): [string, DiscoveryMethod][] {
  const path = `/envoy.service.${service}/`;
  return [
    [`${path}Stream${resource}`, { variant: "sotw", typeUrl }],
    [`${path}Delta${resource}`, { variant: "delta", typeUrl }],
  ];
}
