import { difference, ResourceSet, type Resource } from "@istiod/resources";
import type { Selection } from "../wire/body-cache.js";
import { relativeTo } from "./initial-versions.js";
import type { TypeState } from "./type-state.js";

/** Looks up a resource that is not in the set of its type. */
export type Lookup = (name: string) => Resource | undefined;

/**
 * Selects the resources to send and to remove so that a client has the subscribed resources of `set`, and records them
 * as sent. State-of-the-world responses are derived from this selection.
 *
 * @param lookup finds resources outside the set; undefined if the source has none
 * @param awaited names of resources to send even if the client has them in this version
 */
export function select(
  type: TypeState,
  set: ResourceSet,
  lookup: Lookup | undefined,
  awaited: ReadonlySet<string>,
): Selection {
  const selection =
    type.known === undefined
      ? initialSelection(type, set, lookup, awaited)
      : updateSelection(type, type.known, set, lookup);
  type.known = set;
  type.initialVersions = undefined;
  type.resend.clear();
  type.outsideChanged = false;
  type.names.compact(set);
  return selection;
}

function initialSelection(
  type: TypeState,
  set: ResourceSet,
  lookup: Lookup | undefined,
  awaited: ReadonlySet<string>,
): Selection {
  if (type.initialVersions === undefined && (type.wildcard ? type.names.size === 0 : type.names.equals(set)))
    return all(set);
  const initial = type.initialVersions && relativeTo(type.initialVersions, set);
  const resources: Resource[] = [];
  const removed: string[] = [];
  let whole = initial?.hasAll !== true;
  for (const resource of initial?.hasAll === true ? [...awaited].flatMap((name) => set.get(name) ?? []) : set) {
    if ((initial?.has(resource.name) !== true || awaited.has(resource.name)) && type.covers(resource.name))
      resources.push(resource);
    else whole = false;
  }
  for (const name of type.names.outside(set)) {
    const found = lookup?.(name);
    if (lookup !== undefined) type.outside.set(name, found);
    if (found === undefined) removed.push(name);
    else if (initial?.outsideSet.get(name) !== found.version || awaited.has(name)) {
      resources.push(found);
      whole = false;
    }
  }
  if (type.wildcard && initial !== undefined)
    for (const name of initial.outsideSet.keys()) if (!type.names.has(name)) removed.push(name);
  return whole ? { resources, removed, whole: set } : { resources, removed };
}

function updateSelection(type: TypeState, known: ResourceSet, set: ResourceSet, lookup: Lookup | undefined): Selection {
  const { changed, removed: gone } = difference(known, set);
  const resources = filtered(changed, ({ name }) => type.covers(name));
  const removed = filtered(gone, (name) => type.covers(name));
  for (const name of removed) if (type.names.has(name)) type.outside.lose(name);
  if (lookup === undefined) for (const { name } of resources) type.outside.delete(name);
  if (lookup === undefined && type.resend.size === 0) return { resources, removed };

  const sent = new Set(resources.map(({ name }) => name));
  const more: Resource[] = [];
  const missing = new Set(removed);
  const add = (found: Resource): void => {
    if (sent.has(found.name)) return;
    sent.add(found.name);
    missing.delete(found.name);
    more.push(found);
  };
  if (lookup !== undefined) {
    for (const [name, before] of type.outsideChanged || set !== known ? type.outside : []) {
      if (set.has(name)) {
        type.outside.delete(name);
        continue;
      }
      const found = lookup(name);
      type.outside.set(name, found);
      if (found === undefined) {
        if (before !== undefined) missing.add(name);
      } else if (missing.has(name) || found.version !== before?.version) add(found);
    }
  }
  for (const name of type.resend) {
    if (sent.has(name)) continue;
    let found = set.get(name);
    if (found === undefined && lookup !== undefined && type.names.has(name)) {
      found = type.outside.get(name) ?? lookup(name);
      type.outside.set(name, found);
    }
    if (found === undefined) missing.add(name);
    else add(found);
  }
  return {
    resources: more.length === 0 ? resources : [...resources, ...more],
    removed: missing.size === removed.length && removed.every((name) => missing.has(name)) ? removed : [...missing],
  };
}

/** Returns the list itself if nothing is filtered out, so that its encoding can be shared. */
function filtered<T>(list: readonly T[], keep: (item: T) => boolean): readonly T[] {
  return list.every(keep) ? list : list.filter(keep);
}

/** Returns all subscribed resources as they were last sent. */
export function everything(type: TypeState): Selection {
  const set = type.known ?? ResourceSet.empty;
  const outside = [...type.outside.resources()];
  if (type.wildcard && outside.length === 0) return all(set);
  const resources = set.toArray().filter(({ name }) => type.covers(name));
  return { resources: [...resources, ...outside], removed: [] };
}

function all(set: ResourceSet): Selection {
  return {
    get resources() {
      return set.toArray();
    },
    removed: [],
    whole: set,
  };
}
