import type { QueryContext } from "@istiod/incremental";
import type { DestinationRule } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { Endpoint, GatewayForm } from "@istiod/service-discovery";
import type { EndpointTarget } from "../endpoint-target.js";
import { groupByLocality, type LocalityGroup, totalWeight } from "../locality/locality-group.js";
import { lbEndpoint, weightOf } from "./lb-endpoint.js";
import { mutualTlsPredicate } from "./mutual-tls.js";
import { applySplitHorizon, hasMutualTls } from "./split-horizon.js";
import { visibleEndpoints } from "./visible-endpoints.js";

/** Returns the endpoints of a target that the client can reach, by locality. */
export function reachableGroups(
  q: QueryContext,
  target: EndpointTarget,
  rule: DestinationRule | undefined,
  all: readonly Endpoint[],
  form: GatewayForm,
): readonly LocalityGroup[] {
  const takesMutualTls = mutualTlsPredicate(q, target, rule);
  const members = visibleEndpoints(q, target, rule, all, form).map((endpoint) => ({
    endpoint,
    labels: endpoint.labels,
    lb: lbEndpoint(q, target.service, endpoint, takesMutualTls(endpoint)),
    weight: weightOf(endpoint),
  }));
  const groups = applySplitHorizon(q, groupByLocality(members), form);
  return target.sniDnat ? groups.map(keepMutualTls) : groups;
}

function keepMutualTls(group: LocalityGroup): LocalityGroup {
  const members = group.members.filter(hasMutualTls);
  return { ...group, members, weight: members.length === 0 ? undefined : totalWeight(members) };
}
