import { canonicalKey, requireKey, sameKey } from "./key.js";

/** An item with an argument, which is plain data: see `Key`. */
interface Keyed {
  readonly arg: unknown;
}

/** One item, a few, or many. */
type Entry<T extends Keyed> = T | T[] | Fork<T>;

/** Up to this many items, comparing with each is cheaper than a map. */
const longestList = 8;

/** The most parts of a key that are considered for a fork, and their greatest depth. */
const mostParts = 16;
const greatestDepth = 3;

/**
 * A map from arguments to items, by the content of the arguments. A lookup allocates nothing: primitives are keys of a
 * map; records are keyed by the part in which the first few differed most, then, if more than a few share that part, by
 * another; the few that are left are compared.
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

  /**
   * Adds an item whose argument no other has. Throws an `IncrementalError` with code `key` if the argument is not plain
   * data.
   */
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

/** Items by one part of their arguments. */
class Fork<T extends Keyed> {
  readonly entries = new Map<unknown, Entry<T>>();

  /** `path` is that of the part, as names of properties; null if the argument's canonical text is used instead. */
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
  if (items.length <= longestList) return items;
  const fork = new Fork<T>(distinguishingPath(items));
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

/** Returns the primitive part at a path; undefined if there is none. */
function partAt(arg: unknown, path: readonly string[]): unknown {
  let part = arg;
  for (let i = 0; i < path.length; i++) {
    if (typeof part !== "object" || part === null) return undefined;
    part = (part as Record<string, unknown>)[path[i] as string];
  }
  return typeof part === "object" ? undefined : part;
}

/** Returns the path of the part in which the most items differ; null if all parts are equal. */
function distinguishingPath(items: readonly Keyed[]): readonly string[] | null {
  let best: readonly string[] | null = null;
  let most = 1;
  for (const path of paths(items[0]?.arg)) {
    const parts = new Set(items.map(({ arg }) => partAt(arg, path))).size;
    if (parts > most) [best, most] = [path, parts];
  }
  return best;
}

/** Returns the paths of a key's primitive parts. */
function paths(key: unknown): readonly (readonly string[])[] {
  const found: (readonly string[])[] = [];
  const collect = (part: unknown, path: readonly string[]): void => {
    if (found.length >= mostParts) return;
    if (typeof part !== "object" || part === null) found.push(path);
    else if (path.length < greatestDepth)
      for (const name of Object.keys(part)) collect((part as Record<string, unknown>)[name], [...path, name]);
  };
  collect(key, []);
  return found;
}
