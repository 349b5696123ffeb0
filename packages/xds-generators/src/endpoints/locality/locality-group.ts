import type { Endpoint, Labels } from "@istiod/service-discovery";
import type { LbEndpoint } from "../reachability/lb-endpoint.js";

/** The properties of an endpoint that locality preferences depend on. */
export interface Weighted {
  readonly labels: Labels;
  readonly weight: number;
}

/** An endpoint in Envoy's form. A gateway to another network has labels but no endpoint of its own. */
export interface Member extends Weighted {
  readonly endpoint?: Endpoint;
  readonly lb: LbEndpoint;
}

/** The endpoints of one locality with one priority. */
export interface LocalityGroup<M extends Weighted = Member> {
  /** `region/zone/subzone`. */
  readonly locality: string;
  readonly members: readonly M[];
  /** Undefined if the group has no members. */
  readonly weight: number | undefined;
  readonly priority: number;
}

/** The maximum weight, that of a uint32. */
export const maxWeight = 0xffff_ffff;

/** Returns the sum of the members' weights, at most `maxWeight`. */
export function totalWeight(members: readonly Weighted[]): number {
  return Math.min(
    maxWeight,
    members.reduce((sum, { weight }) => sum + weight, 0),
  );
}

/** Groups members by the locality of their endpoints, ordered by locality. */
export function groupByLocality(
  members: readonly (Member & { readonly endpoint: Endpoint })[],
): readonly LocalityGroup[] {
  return [...groupBy(members, ({ endpoint }) => endpoint.locality)]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([locality, group]) => ({ locality, members: group, weight: totalWeight(group), priority: 0 }));
}

/** Groups items by a key, in order of first appearance. */
export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const out = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = out.get(key);
    if (group === undefined) out.set(key, [item]);
    else group.push(item);
  }
  return out;
}

/** Renumbers priorities without gaps, starting at 0. */
export function compactPriorities<M extends Weighted>(
  groups: readonly LocalityGroup<M>[],
): readonly LocalityGroup<M>[] {
  const used = [...new Set(groups.map(({ priority }) => priority))].sort((a, b) => a - b);
  return groups.map((group) => ({ ...group, priority: used.indexOf(group.priority) }));
}
