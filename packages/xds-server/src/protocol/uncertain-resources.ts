import type { Resource } from "@istiod/resources";
import { sliceNames, type Sliced } from "../sliced.js";
import { countOf, type Selection } from "../wire/body-cache.js";
import type { UncertainNames, UncertainResources } from "./doubt-memory.js";
import { Doubts, type TrialLimits } from "./doubts.js";
import type { TypeState } from "./type-state.js";

export const nothingUncertain: UncertainResources = new Map();
const noVersions: readonly Resource[] = [];

/** Reports whether the client was last sent a resource of a name. */
export function hasResource({ known, outside }: TypeState, name: string): boolean {
  return known?.has(name) === true || outside.get(name) !== undefined;
}

/**
 * Returns the names that the client of a stream may have in another version than it knows, by type: those in doubt
 * after a rejected response, and those of unanswered responses, which may be rejected.
 *
 * @param before names that were uncertain when the stream began
 * @param stillUncertain returns those of a type that no response has made certain
 * @param max number of names of a type; types with more are left out
 */
export function uncertainNames(
  types: ReadonlyMap<string, TypeState>,
  before: UncertainNames | undefined,
  stillUncertain: (type: TypeState) => UncertainResources,
  max: number,
): UncertainNames {
  const names = new Map<string, UncertainResources>();
  for (const [typeUrl, found] of before ?? []) if (!types.has(typeUrl)) names.set(typeUrl, found);
  for (const type of types.values()) {
    const found = uncertainOf(type, stillUncertain(type), max);
    if (found.size > 0 && found.size <= max) names.set(type.typeUrl, found);
  }
  return names;
}

/** Returns the uncertain names of a type. @param max number of names of a list; longer ones are left out */
function uncertainOf(
  { doubts, unanswered, acknowledged, reconnected }: TypeState,
  before: UncertainResources,
  max: number,
): UncertainResources {
  const found = new Map(before);
  const few = doubts !== undefined && doubts.size <= max ? doubts : [];
  for (const [name, { state, resource, earlier }] of few)
    found.set(name, state === "rejected" ? earlier : state === "removed" ? noVersions : [...earlier, resource]);
  for (const name of [...(doubts?.removals.names ?? []), ...(doubts?.removals.readded ?? [])])
    found.set(name, noVersions);
  // A client that began with nothing and has acknowledged nothing has no resource that no response carried.
  const mayHaveOthers = reconnected || acknowledged !== undefined;
  for (const { selection } of unanswered) {
    if (countOf(selection) + selection.removed.length > max) continue;
    for (const resource of selection.resources) {
      const versions = found.get(resource.name) ?? noVersions;
      found.set(resource.name, versions.length === 0 ? [resource] : [...versions, resource]);
    }
    for (const name of mayHaveOthers ? selection.removed : []) if (!found.has(name)) found.set(name, noVersions);
  }
  return found;
}

/** Adds removals of the names that do not exist any more, and records the resources that may be on the client. */
export function withUncertain(
  type: TypeState,
  selected: Selection,
  uncertain: UncertainResources,
  limits: TrialLimits,
): Selection {
  const sent = new Map(selected.resources.map((resource) => [resource.name, resource]));
  const missing: string[] = [];
  for (const [name, versions] of uncertain) {
    if (!type.covers(name)) continue;
    const resource = sent.get(name);
    for (const earlier of versions)
      if (resource !== undefined && earlier.version !== resource.version)
        (type.doubts ??= new Doubts(limits)).await(earlier, resource, undefined, true);
    if (!hasResource(type, name) && !type.keptFailing.has(name)) missing.push(name);
  }
  return { resources: selected.resources, removed: [...new Set([...selected.removed, ...missing])] };
}

/** Removes the resources from a selection that the client rejected, or that are sent again on their own. */
export function* withoutDoubts(type: TypeState, selected: Selection): Sliced<Selection> {
  const { doubts } = type;
  if (doubts === undefined) return selected;
  // The client was sent every resource in doubt, so that those that do not exist any more are among the removed ones.
  const gone: string[] = [];
  let handled = 0;
  for (const name of selected.removed) {
    if (++handled % sliceNames === 0) yield 0;
    const state = doubts.get(name)?.state;
    if (state !== undefined && state !== "removed" && !hasResource(type, name)) gone.push(name);
  }
  const selection = yield* doubts.withhold(selected);
  yield* doubts.sending(selection.resources, gone);
  return selection;
}
