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

/** The endpoints of a cluster whose names the proxy resolves, by locality, as the client prefers them under the cluster's policy. */
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

/** Labels set priorities only in a service's own cluster, not in those of its subsets (as in the original). */
function usesLabelsOnly(chosen: LocalitySetting | undefined): boolean {
  if (chosen?.kind !== "locality") return false;
  const { distribute, failoverPriority, failover } = chosen.setting;
  return distribute.length === 0 && failoverPriority.length > 0 && failover.length === 0;
}
