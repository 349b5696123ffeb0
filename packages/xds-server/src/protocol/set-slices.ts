import { type Difference, differenceInSteps, type ResourceSet } from "@istiod/resources";
import { SharedWork, sliceNames, type Sliced } from "../sliced.js";

const indexing = new SharedWork<ResourceSet, void>();
const comparing = new WeakMap<ResourceSet, SharedWork<ResourceSet, Difference>>();

/** Indexes the names of a set in slices, so that `get` and `has` need not do it at once. */
export function* indexSet(set: ResourceSet): Sliced<void> {
  if (set.size > sliceNames) yield* indexing.of(set, () => inSlices(set.index(sliceNames)));
}

/** Returns the difference between two sets, computed in slices. */
export function* differenceBetween(before: ResourceSet, after: ResourceSet): Sliced<Difference> {
  if (before.size + after.size <= sliceNames) return yield* inSlices(differenceInSteps(before, after, sliceNames));
  let byAfter = comparing.get(before);
  if (byAfter === undefined) comparing.set(before, (byAfter = new SharedWork()));
  return yield* byAfter.of(after, () => inSlices(differenceInSteps(before, after, sliceNames)));
}

function* inSlices<T>(steps: Generator<void, T, void>): Sliced<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    yield 0;
  }
}
