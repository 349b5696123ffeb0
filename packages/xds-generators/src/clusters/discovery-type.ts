import { Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import type { QueryContext } from "@istiod/incremental";
import {
  LoadBalancerSettings_SimpleLB,
  type Subset,
  type TrafficPolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features, proxyType } from "@istiod/push-context";
import type { Protocol, Service } from "@istiod/service-discovery";

/** How the client finds a service's endpoints. Gateways have no original destination to pass through to, so they are sent endpoints. */
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
 * How endpoints are found once a policy counts: one that passes connections through leaves that to where they were meant. Redis that istiod
 * shards is not passed through. Source: pilot/pkg/networking/core/cluster_traffic_policy.go, applyLoadBalancer.
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

/** How a subset's endpoints are found, as far as no policy of its port decides: as its service's are, but where its policy passes connections through, Redis or not. */
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
