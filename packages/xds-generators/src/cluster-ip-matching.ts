import { isIPv4 } from "node:net";
import { gatewayApiFeatures } from "@istiod/gateway-api";
import type { QueryContext } from "@istiod/incremental";
import { clientAddresses } from "@istiod/push-context";
import { type Service, UNSPECIFIED_ADDRESS } from "@istiod/service-discovery";

/** The header by which the routes of requests to addresses of Services are selected. It is not sent to servers. */
export const destinationHeader = "x-istio-destination-address";

const suffix = "~cluster-ip";

/** Returns the name of the route configuration for requests to addresses of Services, beside that by hosts. */
export function clusterIpRouteName(routeName: string): string {
  return routeName + suffix;
}

/** Returns the name of the route configuration by hosts; undefined if a name is not one for addresses. */
export function routeNameByHosts(routeName: string): string | undefined {
  return routeName.endsWith(suffix) ? routeName.slice(0, -suffix.length) : undefined;
}

/**
 * Returns the addresses of a service by which sidecars select routes of HTTP requests; none unless
 * `PILOT_GATEWAY_API_MATCH_CLUSTER_IP` is set.
 */
export function matchedClusterIps(q: QueryContext, service: Service): readonly string[] {
  if (!gatewayApiFeatures.clusterIpMatching(q)) return [];
  return clientAddresses(q, service).filter((address) => isIPv4(address) && address !== UNSPECIFIED_ADDRESS);
}
