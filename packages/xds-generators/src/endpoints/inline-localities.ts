import type { QueryContext } from "@istiod/incremental";
import { destinationRuleFor, type LocalitySetting } from "@istiod/push-context";
import { endpointSource, inlineEndpoints } from "@istiod/service-discovery";
import { type EncodedMember, encodeMembers, withGatewayWeight } from "./encode-assignment.js";
import { type EndpointTarget, isResolvedByProxy } from "./endpoint-target.js";
import type { LocalityGroup } from "./locality/locality-group.js";
import { applyLocalityPreference } from "./locality/locality-preference.js";
import { mergeGateways } from "./locality/merge-gateways.js";
import { reachableGroups } from "./reachability/reachable-groups.js";

/** The locality preference of a cluster with inline endpoints. */
interface InlinePreference {
  readonly setting: LocalitySetting | undefined;
  /** True if the cluster has outlier detection, without which Envoy never fails over to a lower priority. */
  readonly detectsOutliers: boolean;
}

/**
 * Returns the inline endpoints of a DNS cluster (STRICT_DNS, LOGICAL_DNS) by locality. Labels set priorities only in a
 * service's own cluster, not in its subsets (as in Istio).
 */
export function inlineLocalities(
  q: QueryContext,
  target: EndpointTarget,
  preference: InlinePreference,
): readonly LocalityGroup<EncodedMember>[] {
  const { service, port, subset, sniDnat } = target;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace })?.spec;
  const all = q.call(inlineEndpoints, { ...endpointSource(service), port: { name: port.name, number: port.number } });
  const groups = reachableGroups(q, target, rule, all, isResolvedByProxy(service) ? "unresolved" : "resolved");
  const preferred = applyLocalityPreference(q, groups.map(encodeMembers), {
    ...preference,
    usesLabels: subset === "" && !sniDnat,
  });
  return mergeGateways(preferred, withGatewayWeight);
}
