import type { Resource } from "./resource.js";
import type { ResourceSet } from "./resource-set.js";

/** What must be sent to someone who has one set so that they have another. */
export interface Difference {
  /** Added resources and those with another version, in the order of the later set. */
  readonly changed: readonly Resource[];
  /** Names that the later set no longer has, in the order of the earlier set. */
  readonly removed: readonly string[];
}

const none: Difference = { changed: [], removed: [] };
const known = new WeakMap<ResourceSet, WeakMap<ResourceSet, Difference>>();

/**
 * The difference between two sets. Parts that both share by identity are not looked at. The result is computed once for
 * each pair of sets, and is the same object each time; it is kept for as long as both sets are in use.
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
  const shared = common(before.parts, after.parts);
  const old = new Map<string, Resource>();
  for (const part of before.parts) if (!shared.has(part)) for (const resource of part) old.set(resource.name, resource);
  const changed: Resource[] = [];
  for (const part of after.parts) {
    if (shared.has(part)) continue;
    for (const resource of part) {
      const previous = old.get(resource.name);
      if (previous !== resource && previous?.version !== resource.version) changed.push(resource);
      old.delete(resource.name);
    }
  }
  return changed.length === 0 && old.size === 0 ? none : { changed, removed: [...old.keys()] };
}

function common(some: readonly ResourceSet[], others: readonly ResourceSet[]): Set<ResourceSet> {
  const set = new Set(others);
  return new Set(some.filter((part) => set.has(part)));
}
