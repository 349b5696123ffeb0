import type { QueryContext } from "@istiod/incremental";
import type { TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { effectiveLocalitySetting, type LocalitySetting } from "@istiod/push-context";
import {
  type EncodedMember,
  type EndpointTarget,
  inlineLocalities,
  type LocalityGroup,
} from "../../endpoints/index.js";
import { clusterDefaults } from "../cluster-defaults.js";

/**
 * Returns the endpoints of a DNS cluster by locality, with the client's locality preference under the cluster's policy.
 */
export function inlineEndpointsFor(
  q: QueryContext,
  target: EndpointTarget,
  policy: TrafficPolicy | undefined,
): readonly LocalityGroup<EncodedMember>[] {
  const chosen = effectiveLocalitySetting(
    q.call(clusterDefaults),
    policy?.loadBalancer,
    target.service.trafficDistribution,
  );
  const byLabels = target.subset === "" && !target.sniDnat;
  const setting = byLabels || !usesLabelsOnly(chosen) ? chosen : undefined;
  return inlineLocalities(q, target, { setting, detectsOutliers: policy?.outlierDetection !== undefined });
}

/**
 * Reports whether only labels set priorities. They apply to a service's own cluster, not to its subsets (as in Istio).
 */
function usesLabelsOnly(chosen: LocalitySetting | undefined): boolean {
  if (chosen?.kind !== "locality") return false;
  const { distribute, failoverPriority, failover } = chosen.setting;
  return distribute.length === 0 && failoverPriority.length > 0 && failover.length === 0;
}
