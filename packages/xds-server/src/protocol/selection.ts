import { difference, ResourceSet, type Resource } from "@istiod/resources";
import type { Selection } from "../wire/body-cache.js";
import { versionsDigest } from "./set-digest.js";
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
export function select(type: TypeState, set: ResourceSet, lookup: Lookup | undefined, warming: ReadonlySet<string>): Selection {
  const selection = type.known === undefined ? initial(type, set, lookup, warming) : update(type, type.known, set, lookup);
  type.known = set;
  type.held = undefined;
  type.resend.clear();
  type.names.compact(set);
  return selection;
}

function initial(type: TypeState, set: ResourceSet, lookup: Lookup | undefined, warming: ReadonlySet<string>): Selection {
  if (type.wildcard ? type.names.size === 0 : type.names.equals(set)) {
    if (type.held === undefined) return all(set);
    if (type.held.digest.equals(versionsDigest(set))) return { resources: [...warming].flatMap((name) => set.get(name) ?? []), removed: [] };
  }
  const resources: Resource[] = [];
  const removed: string[] = [];
  const held = type.held && new Map(type.held);
  const lacks = ({ name, version }: Resource): boolean => held?.get(name) !== version || warming.has(name);
  let whole = true;
  for (const resource of set) {
    if (type.covers(resource.name) && lacks(resource)) resources.push(resource);
    else whole = false;
  }
  for (const name of type.names) {
    if (set.has(name)) continue;
    const found = lookup?.(name);
    if (lookup !== undefined) type.outside.set(name, found);
    if (found === undefined) removed.push(name);
    else if (lacks(found)) {
      resources.push(found);
      whole = false;
    }
  }
  if (type.wildcard && held !== undefined) {
    for (const name of held.keys()) if (!set.has(name) && !type.names.has(name)) removed.push(name);
  }
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
