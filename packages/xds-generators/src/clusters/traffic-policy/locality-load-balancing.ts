import { create } from "@bufbuild/protobuf";
import {
  type Cluster_CommonLbConfig,
  Cluster_CommonLbConfig_LocalityWeightedLbConfigSchema,
  Cluster_CommonLbConfig_ZoneAwareLbConfigSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import type { QueryContext } from "@istiod/incremental";
import { type LocalitySetting, proxyType } from "@istiod/push-context";
import { clusterDefaults } from "../cluster-defaults.js";

/**
 * Applies locality load balancing: weighted if traffic is distributed or fails over by configuration, zone-aware if
 * configured. Otherwise none, since weights would interfere with the load balancer. Waypoints do not support zone-aware
 * load balancing.
 * Source: pilot/pkg/networking/core/loadbalancer, ApplyToCluster.
 */
export function applyLocalitySetting(
  q: QueryContext,
  commonLb: Cluster_CommonLbConfig,
  chosen: LocalitySetting | undefined,
  detectsOutliers: boolean,
): void {
  if (chosen?.kind === "zoneAware" && q.ask(proxyType) !== "waypoint") {
    const { enabled, minClusterSize } = chosen.setting;
    commonLb.localityConfigSpecifier = {
      case: "zoneAwareLbConfig",
      value: create(Cluster_CommonLbConfig_ZoneAwareLbConfigSchema, {
        ...(enabled === false && { routingEnabled: { value: 0 } }),
        ...(minClusterSize !== undefined && { minClusterSize: BigInt(minClusterSize) }),
      }),
    };
    return;
  }
  const setting = chosen?.kind === "locality" ? chosen.setting : undefined;
  const failsOver = detectsOutliers || (chosen?.kind === "locality" && chosen.forceFailover);
  const explicit = failsOver && ((setting?.failover.length ?? 0) > 0 || (setting?.failoverPriority.length ?? 0) > 0);
  if (q.call(clusterDefaults).localityWeightedLb || explicit || (setting?.distribute.length ?? 0) > 0) {
    commonLb.localityConfigSpecifier = {
      case: "localityWeightedLbConfig",
      value: create(Cluster_CommonLbConfig_LocalityWeightedLbConfigSchema),
    };
  }
}
