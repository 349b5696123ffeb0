import { canonicalKey, requireKey, sameKey } from "./key.js";

/** Has an argument, which is plain data: see `Key`. */
interface Keyed {
  readonly arg: unknown;
}

/** One item, a few, or many. */
type Entry<T extends Keyed> = T | T[] | Fork<T>;

/** Up to this many items, comparing with each costs less than telling them apart by a map. */
const fewItems = 8;

/** So many parts of a key are looked at to find one in which many keys differ, and so deep. */
const partsLookedAt = 16;
const depthLookedAt = 3;

/**
 * Items by their arguments, by content. Nothing is built from an argument in order to look it up: a primitive is a key of a map as it
 * is; for a record the map is by that part of it in which the first few arguments differed most, and then, where more than a few share
 * that part, by another; the few that are left are compared.
 */
export class KeyTable<T extends Keyed> {
  readonly #primitives = new Map<unknown, T>();
  #records: Entry<T> | undefined;
  size = 0;

  get(arg: unknown): T | undefined {
    if (typeof arg !== "object" || arg === null) return this.#primitives.get(arg);
    let entry = this.#records;
    while (entry instanceof Fork) entry = entry.entries.get(entry.part(arg));
    if (entry === undefined) return undefined;
    if (!Array.isArray(entry)) return sameKey(entry.arg, arg) ? entry : undefined;
    for (let i = 0; i < entry.length; i++) {
      const item = entry[i] as T;
      if (sameKey(item.arg, arg)) return item;
    }
    return undefined;
  }

  /** Adds an item whose argument no other has. Throws an `IncrementalError` with code `key` where that is not plain data. */
  add(item: T): void {
    requireKey(item.arg);
    this.size++;
    if (typeof item.arg !== "object" || item.arg === null) this.#primitives.set(item.arg, item);
    else this.#records = added(this.#records, item);
  }

  delete(item: T): void {
    if (this.get(item.arg) !== item) return;
    this.size--;
    if (typeof item.arg !== "object" || item.arg === null) this.#primitives.delete(item.arg);
    else this.#records = removed(this.#records as Entry<T>, item);
  }
}

/** Many items, told apart by one part of their arguments. */
class Fork<T extends Keyed> {
  readonly entries = new Map<unknown, Entry<T>>();

  /** The part is at a path of names of properties; without one, the whole text of the argument stands for it. */
  constructor(readonly path: readonly string[] | null) {}

  part(arg: unknown): unknown {
    return this.path === null ? canonicalKey(arg) : partAt(arg, this.path);
  }
}

function added<T extends Keyed>(entry: Entry<T> | undefined, item: T): Entry<T> {
  if (entry === undefined) return item;
  if (entry instanceof Fork) {
    const part = entry.part(item.arg);
    entry.entries.set(part, added(entry.entries.get(part), item));
    return entry;
  }
  const items = Array.isArray(entry) ? [...entry, item] : [entry, item];
  if (items.length <= fewItems) return items;
  const fork = new Fork<T>(pathThatTellsApart(items));
  for (const one of items) added(fork, one);
  return fork;
}

function removed<T extends Keyed>(entry: Entry<T>, item: T): Entry<T> | undefined {
  if (entry instanceof Fork) {
    const part = entry.part(item.arg);
    const rest = removed(entry.entries.get(part) as Entry<T>, item);
    if (rest === undefined) entry.entries.delete(part);
    else entry.entries.set(part, rest);
    return entry.entries.size === 0 ? undefined : entry;
  }
  if (!Array.isArray(entry)) return undefined;
  const rest = entry.filter((other) => other !== item);
  return rest.length === 1 ? rest[0] : rest;
}

/** Equal for equal keys; `undefined` where there is nothing or a record. */
function partAt(arg: unknown, path: readonly string[]): unknown {
  let part = arg;
  for (let i = 0; i < path.length; i++) {
    if (typeof part !== "object" || part === null) return undefined;
    part = (part as Record<string, unknown>)[path[i] as string];
  }
  return typeof part === "object" ? undefined : part;
}

function pathThatTellsApart(items: readonly Keyed[]): readonly string[] | null {
  let best: readonly string[] | null = null;
  let most = 1;
  for (const path of paths(items[0]?.arg)) {
    const parts = new Set(items.map(({ arg }) => partAt(arg, path))).size;
    if (parts > most) [best, most] = [path, parts];
  }
  return best;
}

/** Where a key has primitive parts. */
function paths(key: unknown): readonly (readonly string[])[] {
  const found: (readonly string[])[] = [];
  const collect = (part: unknown, path: readonly string[]): void => {
    if (found.length >= partsLookedAt) return;
    if (typeof part !== "object" || part === null) found.push(path);
    else if (path.length < depthLookedAt)
      for (const name of Object.keys(part)) collect((part as Record<string, unknown>)[name], [...path, name]);
  };
  collect(key, []);
  return found;
}
