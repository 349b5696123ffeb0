import type { Resource } from "@istiod/resources";
import { sliceLookupMs, sliceLookups, type Sliced } from "../sliced.js";
import type { TypeState } from "./type-state.js";

/** Looks up a resource that is not in the set of its type. */
export type Lookup = (name: string) => Resource | undefined;

/** Changes that come faster than names are looked up must not delay a response forever; the next response follows. */
const maxAttempts = 3;

/**
 * Looks up names in slices and keeps the results in `type.lookedUp`. Starts over if a change of the source comes in
 * between, so that all results are of one state. Returns the number of the last change before.
 */
export function* lookUp(type: TypeState, names: readonly string[], lookup: Lookup): Sliced<number> {
  for (let attempt = 1; ; attempt++) {
    const before = type.changes;
    let handled = 0;
    let sliceEnd = performance.now() + sliceLookupMs;
    for (const name of names) {
      if (handled > 0 && (handled % sliceLookups === 0 || performance.now() >= sliceEnd)) {
        yield 0;
        sliceEnd = performance.now() + sliceLookupMs;
        if (type.changes !== before && attempt < maxAttempts) break;
      }
      type.lookedUp.set(name, lookup(name));
      handled++;
    }
    if (handled === names.length) return before;
  }
}
