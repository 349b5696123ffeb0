/** A collection of unique names. */
interface Names extends Iterable<{ readonly name: string }> {
  readonly size: number;
  has(name: string): boolean;
}

/**
 * Reports whether no two sets share a name. A list that differs in a few sets from a list known to be disjoint is not
 * searched again if the new sets only have names of the sets that they replace: usually a resource has changed and its
 * name has not.
 */
export function disjoint(sets: readonly Names[]): boolean {
  if (sets.length <= few) return searchDisjoint(sets);
  const replacement = closestReplacement(sets);
  const isDisjoint = (replacement !== undefined && addsNoName(replacement)) || searchDisjoint(sets);
  if (isDisjoint) remember(sets);
  return isDisjoint;
}

/** Up to this number of sets, searching is cheaper than comparing with a known list. */
const few = 8;

/** The number of disjoint lists that are known by the same end: one for each of a few classes of clients. */
const mostKnown = 4;

/**
 * The last disjoint lists by their first and by their last set, one of which usually remains when a set is replaced;
 * newest first.
 */
const known = new WeakMap<Names, readonly WeakRef<readonly Names[]>[]>();

const endsOf = (sets: readonly Names[]): ReadonlySet<Names> => new Set([sets[0] as Names, sets.at(-1) as Names]);

function remember(sets: readonly Names[]): void {
  const reference = new WeakRef(sets);
  for (const end of endsOf(sets)) known.set(end, [reference, ...(known.get(end) ?? [])].slice(0, mostKnown));
}

/** Sets of a list known to be disjoint, and the sets that replace them in another list. */
interface Replacement {
  readonly before: readonly Names[];
  readonly after: readonly Names[];
}

/** Returns what replaces the fewest sets of a known list; undefined if searching is cheaper. */
function closestReplacement(sets: readonly Names[]): Replacement | undefined {
  let closest: Replacement | undefined;
  for (const end of endsOf(sets)) {
    for (const reference of known.get(end) ?? []) {
      const others = reference.deref();
      if (others === undefined) continue;
      const found = replacement(others, sets, Math.min(sets.length / 2, closest?.before.length ?? Infinity));
      if (found !== undefined) closest = found;
    }
  }
  return closest;
}

/** Returns the sets in which two lists differ; undefined if as many as `limit` of a list do. */
function replacement(before: readonly Names[], after: readonly Names[], limit: number): Replacement | undefined {
  let from = 0;
  while (from < after.length && after[from] === before[from]) from++;
  let [end, endBefore] = [after.length, before.length];
  while (end > from && endBefore > from && after[end - 1] === before[endBefore - 1])
    [end, endBefore] = [end - 1, endBefore - 1];
  if (end === endBefore) return replacementByPosition(before, after, { from, end, limit });
  if (end - from >= limit || endBefore - from >= limit) return undefined;
  return { before: before.slice(from, endBefore), after: after.slice(from, end) };
}

function replacementByPosition(
  before: readonly Names[],
  after: readonly Names[],
  { from, end, limit }: { readonly from: number; readonly end: number; readonly limit: number },
): Replacement | undefined {
  const found = { before: [] as Names[], after: [] as Names[] };
  for (let at = from; at < end; at++) {
    if (before[at] === after[at]) continue;
    found.before.push(before[at] as Names);
    found.after.push(after[at] as Names);
    if (found.after.length >= limit) return undefined;
  }
  return found;
}

/** Reports whether the sets of the replacement are disjoint and only have names of the sets that they replace. */
function addsNoName({ before, after }: Replacement): boolean {
  const freed = new Set<string>();
  for (const set of before) for (const { name } of set) freed.add(name);
  for (const set of after) for (const { name } of set) if (!freed.delete(name)) return false;
  return true;
}

function searchDisjoint(sets: readonly Names[]): boolean {
  const largest = sets.reduce((a, b) => (b.size > a.size ? b : a));
  const seen = new Set<string>();
  for (const set of sets) {
    if (set === largest) continue;
    for (const { name } of set) {
      if (seen.has(name) || largest.has(name)) return false;
      seen.add(name);
    }
  }
  return true;
}
