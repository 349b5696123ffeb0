import type { Endpoint, Labels } from "@istiod/service-discovery";
import type { LbEndpoint } from "../reachability/lb-endpoint.js";

/** What clients go by when they prefer some endpoints to others. */
export interface Weighted {
  readonly labels: Labels;
  readonly weight: number;
}

/** An endpoint and its form for Envoy. A gateway to another network has no endpoint of its own, but labels. */
export interface Member extends Weighted {
  readonly endpoint?: Endpoint;
  readonly lb: LbEndpoint;
}

/** The endpoints of one locality that have one priority. */
export interface LocalityGroup<M extends Weighted = Member> {
  /** `region/zone/subzone`. */
  readonly locality: string;
  readonly members: readonly M[];
  /** Undefined: Envoy takes none. */
  readonly weight: number | undefined;
  readonly priority: number;
}

/** The largest number that a weight can be. */
export const maxWeight = 0xffff_ffff;

/** The sum of the members' weights, as far as it can be expressed. */
export function totalWeight(members: readonly Weighted[]): number {
  return Math.min(
    maxWeight,
    members.reduce((sum, { weight }) => sum + weight, 0),
  );
}

/** Members by the locality of their endpoints, in order of the localities' names. */
export function groupByLocality(
  members: readonly (Member & { readonly endpoint: Endpoint })[],
): readonly LocalityGroup[] {
  return [...groupBy(members, ({ endpoint }) => endpoint.locality)]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([locality, group]) => ({ locality, members: group, weight: totalWeight(group), priority: 0 }));
}

/** Items by a key of theirs, keys in order of first appearance. */
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
