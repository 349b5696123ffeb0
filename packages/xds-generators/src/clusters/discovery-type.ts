import { Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import type { QueryContext } from "@istiod/incremental";
import { features, proxyType } from "@istiod/push-context";
import type { Service } from "@istiod/service-discovery";

/** How the client finds a service's endpoints. Gateways have no original destination to pass through to, so they are sent endpoints. */
export function discoveryTypeOf(q: QueryContext, { resolution, registry, raceFirstTcpConnect }: Service): Cluster_DiscoveryType {
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
