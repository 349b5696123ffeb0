/** What has names, each of them once. */
interface Names extends Iterable<{ readonly name: string }> {
  readonly size: number;
  has(name: string): boolean;
}

/**
 * Whether no two sets share a name. A list that differs in a few sets from one that was found disjoint is not looked through again where
 * the new sets have names of the ones that they stand for: mostly a resource has changed, and its name has not.
 */
export function disjoint(sets: readonly Names[]): boolean {
  const ends = [sets[0], sets.at(-1)].filter((set) => set !== undefined);
  const isDisjoint = ends.some((end) => followsFrom(sets, found.get(end)?.deref())) || lookedThrough(sets);
  if (isDisjoint && sets.length > few) for (const end of ends) found.set(end, new WeakRef(sets));
  return isDisjoint;
}

/** So few sets are looked through sooner than compared. */
const few = 8;

/** The last list that was found disjoint, by its first set and by its last: one of them stays where few sets change. */
const found = new WeakMap<Names, WeakRef<readonly Names[]>>();

/** Whether the sets are disjoint because others are: those that are new have no names but those of the ones whose place they take. */
function followsFrom(sets: readonly Names[], others: readonly Names[] | undefined): boolean {
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

function lookedThrough(sets: readonly Names[]): boolean {
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
