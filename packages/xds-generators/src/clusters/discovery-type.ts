import { Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import type { QueryContext } from "@istiod/incremental";
import {
  LoadBalancerSettings_SimpleLB,
  type Subset,
  type TrafficPolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features, proxyType } from "@istiod/push-context";
import type { Protocol, Service } from "@istiod/service-discovery";

/**
 * Returns how the client discovers a service's endpoints. Gateways have no original destination, so they use EDS
 * instead.
 */
export function discoveryTypeOf(
  q: QueryContext,
  { resolution, registry, raceFirstTcpConnect }: Service,
): Cluster_DiscoveryType {
  switch (resolution) {
    case "DNSLB":
      return raceFirstTcpConnect ? Cluster_DiscoveryType.LOGICAL_DNS : Cluster_DiscoveryType.STRICT_DNS;
    case "DNSRoundRobinLB":
      return Cluster_DiscoveryType.LOGICAL_DNS;
    case "Passthrough":
      if (registry === "Kubernetes" && features.edsForHeadless(q)) return Cluster_DiscoveryType.EDS;
      return q.ask(proxyType) === "router" ? Cluster_DiscoveryType.EDS : Cluster_DiscoveryType.ORIGINAL_DST;
    default:
      return Cluster_DiscoveryType.EDS;
  }
}

/**
 * Returns the discovery type under a traffic policy: a PASSTHROUGH load balancer selects the original destination.
 * Redis with the Redis filter is never passed through. Source: pilot/pkg/networking/core/cluster_traffic_policy.go,
 * applyLoadBalancer.
 */
export function discoveryTypeWithPolicy(
  q: QueryContext,
  type: Cluster_DiscoveryType,
  policy: TrafficPolicy | undefined,
  protocol: Protocol,
): Cluster_DiscoveryType {
  const passes = isPassthrough(policy) && !(protocol === "Redis" && features.redisFilter(q));
  return passes ? Cluster_DiscoveryType.ORIGINAL_DST : type;
}

/**
 * Returns the discovery type of a subset before policies of its port: the service's, unless the subset's own policy is
 * PASSTHROUGH, Redis or not.
 */
export function discoveryTypeOfSubset(
  ofService: Cluster_DiscoveryType,
  { trafficPolicy }: Subset,
): Cluster_DiscoveryType {
  return isPassthrough(trafficPolicy) ? Cluster_DiscoveryType.ORIGINAL_DST : ofService;
}

export function isPassthrough(policy: TrafficPolicy | undefined): boolean {
  const chosen = policy?.loadBalancer?.lbPolicy;
  return chosen?.case === "simple" && chosen.value === LoadBalancerSettings_SimpleLB.PASSTHROUGH;
}
