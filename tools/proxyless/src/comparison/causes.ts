import type { JsonObject } from "@bufbuild/protobuf";
import { both, type Pair } from "@istiod/parity";
import type { GrpcCause } from "./cause.js";
import { clusterCauses } from "./cluster-causes.js";
import { routeCauses } from "./route-causes.js";

/** The causes of differences, in the order in which they are tried. */
export const causes: readonly GrpcCause[] = [
  {
    name: "servers have a listener without a Service",
    type: "lds",
    without: ([theirs, ours], { name }) =>
      theirs === undefined && name.startsWith("xds.istio.io/grpc/lds/inbound/") ? [ours, ours] : [theirs, ours],
  },
  { name: "a policy without rules", type: "lds", without: withoutRulelessPolicies },
  { name: "terms of policies that gRPC does not evaluate", type: "lds", without: withoutUnknownTerms },
  ...routeCauses,
  ...clusterCauses,
  { name: "localities without endpoints are left out", type: "eds", without: withoutEmptyLocalities },
  { name: "an address occurs once", type: "eds", without: withoutRepetitions },
];

interface RbacFilter {
  readonly name: string;
  readonly typedConfig: { readonly rules?: { readonly action?: string; readonly policies?: Record<string, object> } };
}

/** Calls a function for the RBAC filters of a listener, and returns the listener with its results. */
function mapFilters(
  listener: JsonObject,
  change: (filters: readonly RbacFilter[]) => readonly RbacFilter[],
): JsonObject {
  return JSON.parse(
    JSON.stringify(listener, (key, value: unknown) =>
      key === "httpFilters" ? change(value as readonly RbacFilter[]) : value,
    ),
  ) as JsonObject;
}

/** The policy that stands for one without rules. */
const withoutRules = '{"permissions":[{"notRule":{"any":true}}],"principals":[{"notId":{"any":true}}]}';

/** Removes what stands here for policies without rules, and filters without others. */
function withoutRulelessPolicies([theirs, ours]: Pair): Pair {
  if (theirs === undefined || ours === undefined) return [theirs, ours];
  const isNone = (policy: object): boolean => JSON.stringify(policy) === withoutRules;
  const changed = mapFilters(ours, (filters) =>
    filters.flatMap((filter) =>
      Object.values(filter.typedConfig.rules?.policies ?? {}).some(isNone)
        ? selectPolicies(filter, (policy) => !isNone(policy))
        : [filter],
    ),
  );
  return [theirs, changed];
}

const unknownTerms = /"(uriTemplate|metadata|requestedServerName|sourcedMetadata|filterState)":/;

/** Removes policies with terms that gRPC does not evaluate, and what stands for them here. */
function withoutUnknownTerms([theirs, ours]: Pair): Pair {
  if (theirs === undefined || ours === undefined || !unknownTerms.test(JSON.stringify(theirs))) return [theirs, ours];
  const known = new Set<string>();
  const keyOf = (filter: RbacFilter, policy: object): string => `${filter.name} ${JSON.stringify(policy)}`;
  const first = mapFilters(theirs, (filters) =>
    filters.flatMap((filter) =>
      selectPolicies(filter, (policy) => {
        const isKnown = !unknownTerms.test(JSON.stringify(policy));
        if (isKnown) known.add(keyOf(filter, policy));
        return isKnown;
      }),
    ),
  );
  const second = mapFilters(ours, (filters) =>
    filters.flatMap((filter) => selectPolicies(filter, (policy) => known.has(keyOf(filter, policy)))),
  );
  return [first, second];
}

/** Returns a filter with some of its policies; none if no policy is left. Other filters stay. */
function selectPolicies(filter: RbacFilter, isSelected: (policy: object) => boolean): readonly RbacFilter[] {
  const { typedConfig } = filter;
  if (typedConfig.rules === undefined) return [filter];
  const selected = Object.entries(typedConfig.rules.policies ?? {}).filter(([, policy]) => isSelected(policy));
  if (selected.length === 0) return [];
  const policies = Object.fromEntries(selected);
  return [{ ...filter, typedConfig: { ...typedConfig, rules: { ...typedConfig.rules, policies } } }];
}

interface Locality {
  readonly priority?: number;
  readonly lbEndpoints?: readonly { readonly endpoint: object; readonly loadBalancingWeight?: number }[];
}

/** Removes localities without endpoints from Istio's assignment, and the gaps that they leave in its priorities. */
function withoutEmptyLocalities([theirs, ours]: Pair): Pair {
  const { endpoints = [], ...rest } = (theirs ?? {}) as { endpoints?: readonly Locality[] };
  const kept = endpoints.filter(({ lbEndpoints = [] }) => lbEndpoints.length > 0);
  if (ours === undefined || kept.length === endpoints.length) return [theirs, ours];
  const priorities = [...new Set(kept.map(({ priority = 0 }) => priority))].sort((a, b) => a - b);
  const numbered = kept.map(({ priority = 0, ...locality }) => {
    const number = priorities.indexOf(priority);
    return { ...locality, ...(number > 0 && { priority: number }) };
  });
  return [{ ...rest, ...(numbered.length > 0 && { endpoints: numbered }) } as JsonObject, ours];
}

/** Changes both assignments if an address occurs more than once in Istio's, and once in the one here. */
function withoutRepetitions(pair: Pair): Pair {
  const [isRepeated, isRepeatedHere] = pair.map((each) => {
    const { endpoints = [] } = (each ?? {}) as { readonly endpoints?: readonly Locality[] };
    const all = endpoints.flatMap(({ lbEndpoints = [] }) =>
      lbEndpoints.map(({ endpoint }) => JSON.stringify(endpoint)),
    );
    return new Set(all).size < all.length;
  });
  return isRepeated === true && isRepeatedHere === false ? both(withoutDuplicates)(pair) : pair;
}

/**
 * Keeps the first endpoint of each address, in the order of priorities. Which one is first in a priority depends on the
 * order of localities, so that localities and what an endpoint says of its workload are left out.
 */
function withoutDuplicates(resource: JsonObject): JsonObject {
  const { endpoints = [], ...rest } = resource as { endpoints?: readonly Locality[] };
  const seen = new Set<string>();
  const kept = endpoints
    .toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0))
    .map(({ priority = 0, lbEndpoints = [] }) => ({
      priority,
      addresses: lbEndpoints.flatMap(({ endpoint }) => {
        const address = JSON.stringify(endpoint);
        if (seen.has(address)) return [];
        seen.add(address);
        return [address];
      }),
    }));
  const priorities = [...new Set(kept.filter(({ addresses }) => addresses.length > 0).map(({ priority }) => priority))];
  const addresses = priorities.map((each) =>
    kept.flatMap(({ priority, addresses: own }) => (priority === each ? own : [])).sort(),
  );
  return { ...rest, addresses } as JsonObject;
}
