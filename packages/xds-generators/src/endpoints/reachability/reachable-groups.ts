import type { QueryContext } from "@istiod/incremental";
import type { DestinationRule } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { Endpoint, GatewayForm } from "@istiod/service-discovery";
import type { EndpointTarget } from "../endpoint-target.js";
import { groupByLocality, type LocalityGroup, type Member, totalWeight } from "../locality/locality-group.js";
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
  const groups = applySplitHorizon(q, groupByLocality(withoutRepeated(members)), form);
  return target.sniDnat ? groups.map(keepMutualTls) : groups;
}

/**
 * Returns members without those whose address an earlier locality has already: Envoy counts an address of an assignment
 * once, so that they would only add to the weight of their locality.
 */
function withoutRepeated<M extends Member & { readonly endpoint: Endpoint }>(members: readonly M[]): readonly M[] {
  const [first] = members;
  if (members.every(({ endpoint }) => endpoint.locality === first?.endpoint.locality)) return members;
  const localities = new Map<string, string>();
  for (const { endpoint } of members) {
    const address = addressOf(endpoint);
    const other = localities.get(address);
    if (other === undefined || endpoint.locality < other) localities.set(address, endpoint.locality);
  }
  return members.filter(
    ({ endpoint }) => (endpoint.addresses[0] ?? "") === "" || localities.get(addressOf(endpoint)) === endpoint.locality,
  );
}

/** Returns the address of an endpoint. Networks may use the same ones. */
function addressOf({ addresses: [address = ""], port, network }: Endpoint): string {
  return `${network} ${address} ${port}`;
}

function keepMutualTls(group: LocalityGroup): LocalityGroup {
  const members = group.members.filter(hasMutualTls);
  return { ...group, members, weight: members.length === 0 ? undefined : totalWeight(members) };
}
