import type { QueryContext } from "@istiod/incremental";
import { destinationRuleFor, type LocalitySetting } from "@istiod/push-context";
import { inlineEndpoints } from "@istiod/service-discovery";
import { type EncodedMember, encodeMembers } from "./encode-assignment.js";
import { type EndpointTarget, isResolvedByProxy } from "./endpoint-target.js";
import type { LocalityGroup } from "./locality/locality-group.js";
import { applyLocalityPreference } from "./locality/locality-preference.js";
import { reachableGroups } from "./reachability/reachable-groups.js";

/** How the endpoints of a cluster that is sent with them are spread over localities. */
interface InlinePreference {
  readonly setting: LocalitySetting | undefined;
  /** Envoy notices which endpoints fail, without which it would never turn to a lower priority. */
  readonly detectsOutliers: boolean;
}

/**
 * The endpoints of a cluster that is sent with them (STRICT_DNS, LOGICAL_DNS), for the client. Labels set priorities in a service's own
 * cluster only, not in those of its subsets (as in the original).
 */
export function inlineLocalities(
  q: QueryContext,
  target: EndpointTarget,
  preference: InlinePreference,
): readonly LocalityGroup<EncodedMember>[] {
  const { service, port, subset, sniDnat } = target;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace })?.spec;
  const all = q.call(inlineEndpoints, { service: service.key, port: { name: port.name, number: port.number } });
  const groups = reachableGroups(q, target, rule, all, isResolvedByProxy(service) ? "stated" : "resolved");
  return applyLocalityPreference(q, groups.map(encodeMembers), {
    ...preference,
    usesLabels: subset === "" && !sniDnat,
  });
}
