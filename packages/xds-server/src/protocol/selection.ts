import { ResourceSet, type Resource } from "@istiod/resources";
import { filtered, sliceNames, type Sliced } from "../sliced.js";
import type { Selection } from "../wire/body-cache.js";
import { relativeTo } from "./initial-versions.js";
import { type Lookup, lookUp } from "./lookup.js";
import { computeDigests } from "./set-digest.js";
import { differenceBetween, indexSet } from "./set-slices.js";
import type { TypeState } from "./type-state.js";

/** Resources that are not in the set of a type. */
export interface OutsideSource {
  /** Undefined if the source has none. */
  readonly lookup: Lookup | undefined;
  /** Reports whether a resource exists and cannot be generated now. */
  readonly isFailing: (name: string) => boolean;
}

/**
 * Selects the resources to send and to remove so that a client has the subscribed resources of `set`, and records them
 * as sent. State-of-the-world responses are derived from this selection. The subscription must not change until this is
 * complete.
 *
 * @param source finds resources outside the set
 * @param awaited names of resources to send even if the client has them in this version
 */
export function* select(
  type: TypeState,
  set: ResourceSet,
  source: OutsideSource,
  awaited: ReadonlySet<string>,
): Sliced<Selection> {
  const selected =
    type.known === undefined
      ? yield* initialSelection(type, set, source, awaited)
      : yield* updateSelection(type, type.known, set, source.lookup);
  const selection = type.keptFailing.size === 0 ? selected : yield* withoutKept(type, set, source, selected);
  yield* type.names.compact(set);
  type.known = set;
  type.reconnected ||= type.initialVersions !== undefined;
  type.initialVersions = undefined;
  type.resend.clear();
  type.lookedUp.clear();
  return selection;
}

function* initialSelection(
  type: TypeState,
  set: ResourceSet,
  { lookup, isFailing }: OutsideSource,
  awaited: ReadonlySet<string>,
): Sliced<Selection> {
  if (!type.wildcard && type.names.size === set.size) yield* computeDigests(set);
  if (type.initialVersions === undefined && (type.wildcard ? type.names.size === 0 : type.names.equals(set)))
    return all(set);
  const initial = type.initialVersions && (yield* relativeTo(type.initialVersions, set));
  const outside = yield* type.names.namesOutside(set);
  if (lookup !== undefined) type.lookedUpAt = yield* lookUp(type, outside, lookup);
  const resources: Resource[] = [];
  const removed: string[] = [];
  if (awaited.size > 0) yield* indexSet(set);
  let whole = initial?.hasAll !== true;
  let handled = 0;
  for (const resource of initial?.hasAll === true ? [...awaited].flatMap((name) => set.get(name) ?? []) : set) {
    if (++handled % sliceNames === 0) yield 0;
    if ((initial?.has(resource.name) !== true || awaited.has(resource.name)) && type.covers(resource.name))
      resources.push(resource);
    else whole = false;
  }
  for (const name of outside) {
    if (++handled % sliceNames === 0) yield 0;
    const found = type.lookedUp.take(name);
    if (lookup !== undefined) type.outside.set(name, found);
    if (found === undefined) {
      if (initial?.outsideSet.has(name) === true && isFailing(name)) type.keptFailing.add(name);
      removed.push(name);
    } else if (initial?.outsideSet.get(name) !== found.version || awaited.has(name)) {
      resources.push(found);
      whole = false;
    }
  }
  if (type.wildcard && initial !== undefined)
    for (const name of initial.outsideSet.keys()) {
      if (type.names.has(name)) continue;
      if (isFailing(name)) type.keptFailing.add(name);
      removed.push(name);
    }
  return whole ? { resources, removed, whole: set } : { resources, removed };
}

/**
 * Removes no resources that the client had when it connected and that cannot be generated, and removes those that do
 * not exist any more.
 */
function* withoutKept(
  type: TypeState,
  set: ResourceSet,
  { isFailing }: OutsideSource,
  selection: Selection,
): Sliced<Selection> {
  const { keptFailing, outside } = type;
  yield* indexSet(set);
  const gone: string[] = [];
  for (const name of [...keptFailing]) {
    if (set.has(name) || outside.get(name) !== undefined || !type.covers(name)) keptFailing.delete(name);
    else if (!isFailing(name)) {
      keptFailing.delete(name);
      gone.push(name);
    }
  }
  const kept = selection.removed.filter((name) => !keptFailing.has(name));
  const removed = gone.length === 0 ? kept : [...new Set([...kept, ...gone])];
  return selection.whole === undefined
    ? { resources: selection.resources, removed }
    : { resources: selection.resources, removed, whole: selection.whole };
}

function* updateSelection(
  type: TypeState,
  known: ResourceSet,
  set: ResourceSet,
  lookup: Lookup | undefined,
): Sliced<Selection> {
  const { changed, removed: gone } = yield* differenceBetween(known, set);
  const resources = yield* filtered(changed, ({ name }) => type.covers(name));
  const removed = yield* filtered(gone, (name) => type.covers(name));
  let handled = 0;
  for (const name of removed) {
    if (++handled % sliceNames === 0) yield 0;
    if (type.names.has(name)) type.outside.lose(name);
  }
  if (lookup === undefined) {
    for (const { name } of resources) type.outside.delete(name);
    if (type.resend.size === 0) return { resources, removed };
  }
  return yield* selectMore(type, set, lookup, { resources, removed, isNew: set !== known });
}

/** Adds resources outside the set that have changed, and resources to send even if they are unchanged. */
function* selectMore(
  type: TypeState,
  set: ResourceSet,
  lookup: Lookup | undefined,
  { resources, removed, isNew }: Selection & { readonly isNew: boolean },
): Sliced<Selection> {
  if (type.resend.size + type.outside.size > 0) yield* indexSet(set);
  const sent = new Set<string>();
  for (const { name } of resources) sent.add(name);
  let handled = 0;
  const looksUpAll = lookup !== undefined && (isNew || type.lookedUpAt !== type.changes);
  if (lookup !== undefined) {
    const names = yield* namesToLookUp(type, set, sent, looksUpAll);
    const before = yield* lookUp(type, names, lookup);
    if (looksUpAll) type.lookedUpAt = before;
  }
  const more: Resource[] = [];
  const missing = new Set(removed);
  const add = (found: Resource): void => {
    if (sent.has(found.name)) return;
    sent.add(found.name);
    missing.delete(found.name);
    more.push(found);
  };
  for (const [name, before] of looksUpAll ? type.outside : []) {
    if (++handled % sliceNames === 0) yield 0;
    const found = type.lookedUp.take(name);
    type.outside.set(name, found);
    if (found === undefined) {
      if (before !== undefined) missing.add(name);
    } else if (missing.has(name) || found.version !== before?.version) add(found);
  }
  for (const name of type.resend) {
    if (++handled % sliceNames === 0) yield 0;
    if (sent.has(name)) continue;
    let found = set.get(name);
    if (found === undefined && lookup !== undefined && type.names.has(name)) {
      found = type.outside.get(name) ?? type.lookedUp.take(name);
      type.outside.set(name, found);
    }
    if (found === undefined) missing.add(name);
    else add(found);
  }
  const unchanged = missing.size === removed.length && removed.every((name) => missing.has(name));
  return {
    resources: more.length === 0 ? resources : [...resources, ...more],
    removed: unchanged ? removed : [...missing],
  };
}

/**
 * Returns the names of resources outside the set that must be looked up for an update. Forgets names that are in the
 * set.
 *
 * @param sent names of resources that the response contains anyway
 * @param all whether known resources must be looked up again
 */
function* namesToLookUp(
  type: TypeState,
  set: ResourceSet,
  sent: ReadonlySet<string>,
  all: boolean,
): Sliced<readonly string[]> {
  const { outside, names, resend } = type;
  const found: string[] = [];
  let handled = 0;
  for (const [name] of all ? outside : []) {
    if (++handled % sliceNames === 0) yield 0;
    if (set.has(name)) outside.delete(name);
    else found.push(name);
  }
  for (const name of resend) {
    if (++handled % sliceNames === 0) yield 0;
    const isKnown = all ? outside.has(name) : outside.get(name) !== undefined;
    if (!isKnown && !sent.has(name) && names.has(name) && !set.has(name)) found.push(name);
  }
  return found;
}

/** Returns all subscribed resources as they were last sent. */
export function* everything(type: TypeState): Sliced<Selection> {
  const set = type.known ?? ResourceSet.empty;
  const outside = [...type.outside.resources()];
  if (type.wildcard && outside.length === 0) return all(set);
  const resources = yield* filtered(set.toArray(), ({ name }) => type.covers(name));
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
