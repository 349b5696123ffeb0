import { difference, ResourceSet, type Resource } from "@istiod/resources";
import type { Selection } from "../wire/body-cache.js";
import { heldOf } from "./held.js";
import type { TypeState } from "./type-state.js";

/** Looks up a resource outside the set of its type. */
export type Lookup = (name: string) => Resource | undefined;

/**
 * What must be sent so that a client has the subscribed resources of `set`, in the terms of delta, and marks it as sent. State-of-the-world responses
 * are made from the same.
 *
 * @param lookup for names outside the set; undefined if there are never any
 * @param warming names of resources that the client waits for, whatever it held when it connected
 */
export function select(
  type: TypeState,
  set: ResourceSet,
  lookup: Lookup | undefined,
  warming: ReadonlySet<string>,
): Selection {
  const selection =
    type.known === undefined ? initial(type, set, lookup, warming) : update(type, type.known, set, lookup);
  type.known = set;
  type.held = undefined;
  type.resend.clear();
  type.names.compact(set);
  return selection;
}

function initial(
  type: TypeState,
  set: ResourceSet,
  lookup: Lookup | undefined,
  warming: ReadonlySet<string>,
): Selection {
  if (type.held === undefined && (type.wildcard ? type.names.size === 0 : type.names.equals(set))) return all(set);
  const held = type.held && heldOf(type.held, set);
  const resources: Resource[] = [];
  const removed: string[] = [];
  let whole = held?.all !== true;
  for (const resource of held?.all === true ? [...warming].flatMap((name) => set.get(name) ?? []) : set) {
    if ((held?.has(resource.name) !== true || warming.has(resource.name)) && type.covers(resource.name))
      resources.push(resource);
    else whole = false;
  }
  for (const name of type.names.outside(set)) {
    const found = lookup?.(name);
    if (lookup !== undefined) type.outside.set(name, found);
    if (found === undefined) removed.push(name);
    else if (held?.others.get(name) !== found.version || warming.has(name)) {
      resources.push(found);
      whole = false;
    }
  }
  if (type.wildcard && held !== undefined)
    for (const name of held.others.keys()) if (!type.names.has(name)) removed.push(name);
  return whole ? { resources, removed, whole: set } : { resources, removed };
}

function update(type: TypeState, known: ResourceSet, set: ResourceSet, lookup: Lookup | undefined): Selection {
  const { changed, removed: gone } = difference(known, set);
  const resources = filtered(changed, ({ name }) => type.covers(name));
  const removed = filtered(gone, (name) => type.covers(name));
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
    for (const name of removed) if (type.names.has(name)) type.outside.set(name, undefined);
    for (const [name, before] of type.outside) {
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

/** The list itself where nothing is left out, so that what is made from it can be shared. */
function filtered<T>(list: readonly T[], keep: (item: T) => boolean): readonly T[] {
  return list.every(keep) ? list : list.filter(keep);
}

/** Everything that the client subscribes to, as it was last sent. */
export function everything(type: TypeState): Selection {
  const set = type.known ?? ResourceSet.empty;
  const outside = [...type.outside.values()].filter((resource) => resource !== undefined);
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
