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
  const groups = applySplitHorizon(q, groupByLocality(withoutRepeated(members, form)), form);
  return target.sniDnat ? groups.map(keepMutualTls) : groups;
}

type EndpointMember = Member & { readonly endpoint: Endpoint };

/**
 * Returns members of which each address stands once: Envoy counts an address of an assignment once, with the weight of
 * its first occurrence, so that others only add to the weight of their locality. It is kept in its first locality,
 * healthy if it is anywhere in it, with the largest of its weights: it is one endpoint, however many objects name it.
 * Clients that resolve hostnames count each one of a locality, so these are all kept.
 */
function withoutRepeated(members: readonly EndpointMember[], form: GatewayForm): readonly EndpointMember[] {
  const kept = new Map<string, EndpointMember>();
  for (const member of members) {
    const address = addressOf(member.endpoint);
    const other = kept.get(address);
    kept.set(address, other === undefined ? member : merged(other, member));
  }
  if (kept.size === members.length) return members;
  const done = new Set<string>();
  return members.flatMap((member): readonly EndpointMember[] => {
    const { endpoint } = member;
    const address = addressOf(endpoint);
    const keeper = kept.get(address) ?? member;
    if ((endpoint.addresses[0] ?? "") === "") return [member];
    if (form === "unresolved") return keeper.endpoint.locality === endpoint.locality ? [member] : [];
    if (done.has(address)) return isRepeated(member, keeper) ? [keeper] : [];
    done.add(address);
    return [keeper];
  });
}

/**
 * Reports whether one object gives an endpoint again, as a ServiceEntry does for each of its addresses. Istio sends it
 * each time, which is the same for Envoy in one locality.
 */
function isRepeated({ endpoint, weight }: EndpointMember, keeper: EndpointMember): boolean {
  const { endpoint: kept } = keeper;
  return (
    weight === keeper.weight &&
    endpoint.workloadName === kept.workloadName &&
    endpoint.locality === kept.locality &&
    endpoint.health === kept.health
  );
}

function merged(a: EndpointMember, b: EndpointMember): EndpointMember {
  const [first, other] = isBefore(b.endpoint, a.endpoint) ? [b, a] : [a, b];
  return other.weight > first.weight ? { ...first, weight: other.weight } : first;
}

function isBefore(a: Endpoint, b: Endpoint): boolean {
  if (a.locality !== b.locality) return a.locality < b.locality;
  return a.health === "Healthy" && b.health !== "Healthy";
}

/** Returns the address of an endpoint. Networks may use the same ones. */
function addressOf({ addresses: [address = ""], port, network }: Endpoint): string {
  return `${network} ${address} ${port}`;
}

function keepMutualTls(group: LocalityGroup): LocalityGroup {
  const members = group.members.filter(hasMutualTls);
  return { ...group, members, weight: members.length === 0 ? undefined : totalWeight(members) };
}
