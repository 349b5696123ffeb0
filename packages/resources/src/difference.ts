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
  const steps = differenceInSteps(before, after, Infinity);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Returns the same as `difference`, and yields after each `step` of the resources and parts that are compared. */
export function differenceInSteps(
  before: ResourceSet,
  after: ResourceSet,
  step: number,
): Generator<void, Difference, void> {
  return differenceOf(before, after, new Progress(step));
}

/** Counts what is compared. */
class Progress {
  readonly step: number;
  #compared = 0;

  constructor(step: number) {
    this.step = step;
  }

  /** Counts one more. Reports whether it ends a step. */
  endsStep(): boolean {
    return ++this.#compared % this.step === 0;
  }
}

type Steps<T> = Generator<void, T, void>;

function* differenceOf(before: ResourceSet, after: ResourceSet, progress: Progress): Steps<Difference> {
  if (before === after) return none;
  const found = known.get(before)?.get(after);
  if (found !== undefined) return found;
  const result = yield* compare(before, after, progress);
  let byAfter = known.get(before);
  if (byAfter === undefined) known.set(before, (byAfter = new WeakMap()));
  // Another caller may have completed the same difference between two steps.
  const completed = byAfter.get(after);
  if (completed === undefined) byAfter.set(after, result);
  return completed ?? result;
}

function* compare(before: ResourceSet, after: ResourceSet, progress: Progress): Steps<Difference> {
  const [old, now] = yield* withoutCommon(before.parts, after.parts, progress);
  if (old.length === 1 && now.length === 1 && old[0] === before && now[0] === after)
    return yield* compareResources(before, after, progress);
  if (old.length === now.length) return yield* comparePairs(before, old, now, progress);
  return yield* compareResources(...(yield* expand(old, now, progress)), progress);
}

/** Returns two lists without their common parts. */
function* withoutCommon(
  some: readonly ResourceSet[],
  others: readonly ResourceSet[],
  progress: Progress,
): Steps<[ResourceSet[], ResourceSet[]]> {
  const [a, b] = [yield* setOf(some, progress), yield* setOf(others, progress)];
  return [some.filter((part) => !b.has(part)), others.filter((part) => !a.has(part))];
}

function* setOf(parts: readonly ResourceSet[], progress: Progress): Steps<ReadonlySet<ResourceSet>> {
  const set = new Set<ResourceSet>();
  for (const part of parts) {
    set.add(part);
    if (progress.endsStep()) yield;
  }
  return set;
}

/** Expands unions into their parts, skipping common parts, until there are no more unions. */
function* expand(old: ResourceSet[], now: ResourceSet[], progress: Progress): Steps<[Resource[], Resource[]]> {
  while ([...old, ...now].some((part) => part.isUnion)) {
    const partsOf = (list: ResourceSet[]): ResourceSet[] => list.flatMap((part) => [...part.parts]);
    [old, now] = yield* withoutCommon(partsOf(old), partsOf(now), progress);
  }
  return [old.flatMap((part) => part.toArray()), now.flatMap((part) => part.toArray())];
}

/** Compares corresponding parts. Resources that moved to another part are found afterwards. */
function* comparePairs(
  before: ResourceSet,
  old: ResourceSet[],
  now: ResourceSet[],
  progress: Progress,
): Steps<Difference> {
  const differing: Difference[] = [];
  for (const [i, part] of old.entries()) {
    const pair = yield* differenceOf(part, now[i] as ResourceSet, progress);
    if (pair !== none) differing.push(pair);
    if (progress.endsStep()) yield;
  }
  if (differing.length <= 1) return differing[0] ?? none;
  const gone = new Set(differing.flatMap((pair) => pair.removed));
  const changed: Resource[] = [];
  for (const resource of differing.flatMap((pair) => pair.changed)) {
    const moved = gone.delete(resource.name);
    if (moved) yield* before.index(progress.step);
    if (!moved || before.get(resource.name)?.version !== resource.version) changed.push(resource);
    if (progress.endsStep()) yield;
  }
  return { changed, removed: [...gone] };
}

function* compareResources(
  before: Iterable<Resource>,
  after: Iterable<Resource>,
  progress: Progress,
): Steps<Difference> {
  const old = new Map<string, Resource>();
  for (const resource of before) {
    old.set(resource.name, resource);
    if (progress.endsStep()) yield;
  }
  const changed: Resource[] = [];
  for (const resource of after) {
    const previous = old.get(resource.name);
    if (previous !== resource && previous?.version !== resource.version) changed.push(resource);
    old.delete(resource.name);
    if (progress.endsStep()) yield;
  }
  return changed.length === 0 && old.size === 0 ? none : { changed, removed: [...old.keys()] };
}
