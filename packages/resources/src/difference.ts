import type { Resource } from "./resource.js";
import type { ResourceSet } from "./resource-set.js";

/** What must be sent to someone who has one set so that they have another. */
export interface Difference {
  /** Added resources and those with another version, in the order of the later set. */
  readonly changed: readonly Resource[];
  /** Names that the later set no longer has. */
  readonly removed: readonly string[];
}

const none: Difference = { changed: [], removed: [] };
const known = new WeakMap<ResourceSet, WeakMap<ResourceSet, Difference>>();

/**
 * The difference between two sets. Parts that both have in common are not looked at, and parts that take each other's place are
 * compared once for all sets that they are parts of. The result is computed once for each pair of sets, and is the same
 * object each time; it is kept for as long as both sets are in use.
 */
export function difference(before: ResourceSet, after: ResourceSet): Difference {
  if (before === after) return none;
  let byAfter = known.get(before);
  if (byAfter === undefined) known.set(before, (byAfter = new WeakMap()));
  let result = byAfter.get(after);
  if (result === undefined) byAfter.set(after, (result = compare(before, after)));
  return result;
}

function compare(before: ResourceSet, after: ResourceSet): Difference {
  const [old, now] = apart(before.parts, after.parts);
  if (old.length === 1 && now.length === 1 && old[0] === before && now[0] === after)
    return compareResources(before, after);
  return old.length === now.length ? comparePairs(before, old, now) : compareResources(...expanded(old, now));
}

/** What is left of two lists without the parts that both have. */
function apart(some: readonly ResourceSet[], others: readonly ResourceSet[]): [ResourceSet[], ResourceSet[]] {
  const [a, b] = [new Set(some), new Set(others)];
  return [some.filter((part) => !b.has(part)), others.filter((part) => !a.has(part))];
}

/** Takes unions apart, and what both have in common out, until there are no more unions. */
function expanded(old: ResourceSet[], now: ResourceSet[]): [Resource[], Resource[]] {
  while ([...old, ...now].some((part) => part.isUnion)) {
    const partsOf = (list: ResourceSet[]): ResourceSet[] => list.flatMap((part) => [...part.parts]);
    [old, now] = apart(partsOf(old), partsOf(now));
  }
  return [old.flatMap((part) => part.toArray()), now.flatMap((part) => part.toArray())];
}

/** Compares parts that take each other's place; a resource that went from one place to another is found afterwards. */
function comparePairs(before: ResourceSet, old: ResourceSet[], now: ResourceSet[]): Difference {
  const pairs = old.map((part, i) => difference(part, now[i] as ResourceSet));
  const differing = pairs.filter((pair) => pair !== none);
  if (differing.length <= 1) return differing[0] ?? none;
  const changed = differing.flatMap((pair) => pair.changed);
  const gone = new Set(differing.flatMap((pair) => pair.removed));
  const moved = new Set(changed.filter(({ name }) => gone.has(name)).map(({ name }) => name));
  return {
    changed: changed.filter(({ name, version }) => !moved.has(name) || before.get(name)?.version !== version),
    removed: [...gone].filter((name) => !moved.has(name)),
  };
}

function compareResources(before: Iterable<Resource>, after: Iterable<Resource>): Difference {
  const old = new Map(Array.from(before, (resource) => [resource.name, resource]));
  const changed: Resource[] = [];
  for (const resource of after) {
    const previous = old.get(resource.name);
    if (previous !== resource && previous?.version !== resource.version) changed.push(resource);
    old.delete(resource.name);
  }
  return changed.length === 0 && old.size === 0 ? none : { changed, removed: [...old.keys()] };
}
