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
  const ends = [sets[0], sets.at(-1)].filter((set) => set !== undefined);
  const isDisjoint = ends.some((end) => isDisjointLike(sets, found.get(end)?.deref())) || searchDisjoint(sets);
  if (isDisjoint && sets.length > few) for (const end of ends) found.set(end, new WeakRef(sets));
  return isDisjoint;
}

/** Up to this number of sets, searching is cheaper than comparing with a known list. */
const few = 8;

/** Disjoint lists by their first and by their last set, one of which usually remains when a set is replaced. */
const found = new WeakMap<Names, WeakRef<readonly Names[]>>();

/** Reports whether the sets are disjoint because others are: new sets only have names of the sets that they replace. */
function isDisjointLike(sets: readonly Names[], others: readonly Names[] | undefined): boolean {
  if (others === undefined) return false;
  let from = 0;
  while (from < sets.length && sets[from] === others[from]) from++;
  let [to, othersTo] = [sets.length, others.length];
  while (to > from && othersTo > from && sets[to - 1] === others[othersTo - 1]) [to, othersTo] = [to - 1, othersTo - 1];
  const aligned = to === othersTo;
  const freed = new Set<string>();
  for (let i = from; i < othersTo; i++)
    if (!aligned || sets[i] !== others[i]) for (const { name } of others[i] as Names) freed.add(name);
  for (let i = from; i < to; i++) {
    if (aligned && sets[i] === others[i]) continue;
    for (const { name } of sets[i] as Names) if (!freed.delete(name)) return false;
  }
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
