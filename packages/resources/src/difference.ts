import type { Resource } from "./resource.js";
import type { ResourceSet } from "./resource-set.js";

/** The changes from one set to another. */
export interface Difference {
  /** Added resources and resources with another version, in the order of the later set. */
  readonly changed: readonly Resource[];
  /** Names that are not in the later set. */
  readonly removed: readonly string[];
}

const none: Difference = { changed: [], removed: [] };
const known = new WeakMap<ResourceSet, WeakMap<ResourceSet, Difference>>();

/**
 * Returns the difference between two sets. Shared parts are skipped, and corresponding parts are compared once for all
 * sets that contain them. The result is computed once per pair of sets and cached while both are in use, so that it is
 * the same object each time.
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
  const [old, now] = withoutCommon(before.parts, after.parts);
  if (old.length === 1 && now.length === 1 && old[0] === before && now[0] === after)
    return compareResources(before, after);
  return old.length === now.length ? comparePairs(before, old, now) : compareResources(...expand(old, now));
}

/** Returns two lists without their common parts. */
function withoutCommon(some: readonly ResourceSet[], others: readonly ResourceSet[]): [ResourceSet[], ResourceSet[]] {
  const [a, b] = [new Set(some), new Set(others)];
  return [some.filter((part) => !b.has(part)), others.filter((part) => !a.has(part))];
}

/** Expands unions into their parts, skipping common parts, until there are no more unions. */
function expand(old: ResourceSet[], now: ResourceSet[]): [Resource[], Resource[]] {
  while ([...old, ...now].some((part) => part.isUnion)) {
    const partsOf = (list: ResourceSet[]): ResourceSet[] => list.flatMap((part) => [...part.parts]);
    [old, now] = withoutCommon(partsOf(old), partsOf(now));
  }
  return [old.flatMap((part) => part.toArray()), now.flatMap((part) => part.toArray())];
}

/** Compares corresponding parts. Resources that moved to another part are found afterwards. */
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
