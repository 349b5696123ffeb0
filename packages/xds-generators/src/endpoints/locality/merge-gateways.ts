import { type LocalityGroup, maxWeight, type Weighted } from "./locality-group.js";

/** A member that may be a gateway to another network. */
export interface MergeableMember extends Weighted {
  readonly gateway?: {
    /** `address:port`. */
    readonly address: string;
  };
}

/** A gateway in a group. */
interface Occurrence {
  readonly group: number;
  readonly weight: number;
}

/**
 * Merges the members of an assignment that are the same gateway. A gateway stands for endpoints in several localities,
 * but Envoy counts an address of an assignment once, with the weight and the locality of its first occurrence. It is
 * kept where most of its endpoints are among those with the best priority, with the weight of all of them, and the
 * weights of the localities follow. `withWeight` returns a member with another weight.
 */
export function mergeGateways<M extends MergeableMember>(
  groups: readonly LocalityGroup<M>[],
  withWeight: (member: M, weight: number) => M,
): readonly LocalityGroup<M>[] {
  const repeated = repeatedGateways(groups);
  if (repeated.size === 0) return groups;
  const keepers = new Map([...repeated].map(([address, at]) => [address, keeperOf(groups, at)]));
  const moved = movedWeights(groups, repeated, keepers);
  return groups.map((group, position) => {
    const kept = new Set<string>();
    const members = group.members.flatMap((member): M[] => {
      const address = member.gateway?.address ?? "";
      const occurrences = repeated.get(address);
      if (occurrences === undefined) return [member];
      if (keepers.get(address) !== position || kept.has(address)) return [];
      kept.add(address);
      const total = occurrences.reduce((sum, { weight }) => sum + weight, 0);
      return [withWeight(member, Math.min(maxWeight, total))];
    });
    if (members.length === 0) return { ...group, members, weight: undefined };
    const weight = Math.round((group.weight ?? 0) + (moved[position] ?? 0));
    return { ...group, members, weight: Math.min(maxWeight, Math.max(1, weight)) };
  });
}

function repeatedGateways(groups: readonly LocalityGroup<MergeableMember>[]): Map<string, readonly Occurrence[]> {
  const found = new Map<string, Occurrence[]>();
  groups.forEach(({ members }, group) => {
    for (const { gateway, weight } of members) {
      if (gateway === undefined) continue;
      const occurrences = found.get(gateway.address);
      if (occurrences === undefined) found.set(gateway.address, [{ group, weight }]);
      else occurrences.push({ group, weight });
    }
  });
  return new Map([...found].filter(([, occurrences]) => occurrences.length > 1));
}

/** Returns the group that keeps a gateway: of the best priority, then with most of its weight, then the first. */
function keeperOf(groups: readonly LocalityGroup<MergeableMember>[], occurrences: readonly Occurrence[]): number {
  const weights = new Map<number, number>();
  for (const { group, weight } of occurrences) weights.set(group, (weights.get(group) ?? 0) + weight);
  const priorityOf = (group: number): number => groups[group]?.priority ?? 0;
  const [first] = [...weights].sort(([a, weightA], [b, weightB]) => {
    return priorityOf(a) - priorityOf(b) || weightB - weightA || a - b;
  });
  return first?.[0] ?? 0;
}

/**
 * Returns how much each group's own weight gains or loses. A gateway takes the share of its former group with it, which
 * may be another one than its weight if localities are distributed explicitly.
 */
function movedWeights(
  groups: readonly LocalityGroup<MergeableMember>[],
  repeated: ReadonlyMap<string, readonly Occurrence[]>,
  keepers: ReadonlyMap<string, number>,
): readonly number[] {
  const totals = groups.map(({ members }) => members.reduce((sum, { weight }) => sum + weight, 0));
  const moved = groups.map(() => 0);
  for (const [address, occurrences] of repeated) {
    const keeper = keepers.get(address) ?? 0;
    for (const { group, weight } of occurrences) {
      if (group === keeper) continue;
      const share = ((groups[group]?.weight ?? 0) * weight) / (totals[group] || 1);
      moved[group] = (moved[group] ?? 0) - share;
      moved[keeper] = (moved[keeper] ?? 0) + share;
    }
  }
  return moved;
}
