import type { Resource } from "@istiod/resources";
import { filtered, type Sliced } from "../sliced.js";
import type { Selection } from "../wire/body-cache.js";
import { derive } from "./derived-lists.js";
import { type Doubt, isWaiting } from "./doubt.js";

/** Returns the resources of a response without those that must not be sent now. */
export function* withhold(doubts: ReadonlyMap<string, Doubt>, selection: Selection): Sliced<Selection> {
  if (doubts.size === 0) return selection;
  const isWithheld = (resource: Resource): boolean => {
    const doubt = doubts.get(resource.name);
    return doubt !== undefined && isWaiting(doubt) && doubt.version === resource.version;
  };
  const withheld = someWaiting(doubts);
  if (withheld.length === 0) return selection;
  if (selection.whole === undefined) {
    const resources = yield* filtered(selection.resources, (resource) => !isWithheld(resource));
    return resources === selection.resources ? selection : { resources, removed: selection.removed };
  }
  const key = keyOf(withheld, ([, { resource }]) => `-${resource.name} ${resource.version}`);
  const resources = yield* derive(selection, key, (resource) => (isWithheld(resource) ? undefined : resource));
  return { resources, removed: selection.removed };
}

/**
 * Returns the full state for the client: the resources that it acknowledged last in place of those that must not be
 * sent now. The client removes all that a full state lacks, also a last good version, so that a rejected version
 * holds the place of one that is not known. Those are at the end, where they come last in a list of errors.
 */
export function* substitute(doubts: ReadonlyMap<string, Doubt>, selection: Selection): Sliced<Selection> {
  const withheld = someWaiting(doubts);
  if (withheld.length === 0) return selection;
  const held: Resource[] = [];
  for (const doubt of doubts.values())
    if (doubt.placeholder !== undefined && isWaiting(doubt)) held.push(doubt.placeholder);
  const key = keyOf(
    withheld,
    ([name, { accepted, placeholder }]) => `=${name} ${accepted?.version ?? ""} ${placeholder?.version ?? ""}`,
  );
  const acceptedOf = (resource: Resource): Resource | undefined => {
    const doubt = doubts.get(resource.name);
    return doubt === undefined || !isWaiting(doubt) ? resource : doubt.accepted;
  };
  const resources = yield* derive(selection, key, acceptedOf, held);
  return { resources, removed: [] };
}

/** Number of resources up to which lists without them are shared. */
const maxShared = 64;

/** Returns resources that must not be sent now: all, or one more than lists without them are shared for. */
function someWaiting(doubts: ReadonlyMap<string, Doubt>): readonly (readonly [string, Doubt])[] {
  const found: (readonly [string, Doubt])[] = [];
  for (const entry of doubts) if (isWaiting(entry[1]) && found.push(entry) > maxShared) break;
  return found;
}

function keyOf(
  waiting: readonly (readonly [string, Doubt])[],
  partOf: (entry: readonly [string, Doubt]) => string,
): string | undefined {
  return waiting.length > maxShared ? undefined : waiting.map(partOf).sort().join("\n");
}
