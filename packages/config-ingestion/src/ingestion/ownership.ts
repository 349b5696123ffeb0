import type { Collection } from "@istiod/incremental";
import type { Write } from "./write.js";

/** A source that takes part in the ownership of entries. */
export interface Owner {
  /** Of several owners of an entry, the one with the lowest number counts. */
  readonly order: number;
}

/** An entry that several sources define. */
export interface SharedEntry<O extends Owner> {
  readonly collection: Collection<unknown>;
  readonly key: string;
  /** By order; the first counts. */
  readonly owners: readonly O[];
}

/** Returns the current value of an entry, committed or not. */
export type CurrentValue = (collection: Collection<unknown>, key: string) => unknown;

interface Candidate<O> {
  readonly owner: O;
  readonly value: unknown;
}

/**
 * Records which source defines which entry, so that the entries of a source can be removed or replaced. Values are
 * recorded only of entries that several sources define; the others are in the database.
 */
export class Ownership<O extends Owner> {
  readonly #owners = new Map<Collection<unknown>, Map<string, O>>();
  readonly #shared = new Map<Collection<unknown>, Map<string, readonly Candidate<O>[]>>();
  readonly #currentValue: CurrentValue;

  constructor(currentValue: CurrentValue) {
    this.#currentValue = currentValue;
  }

  /** Records a write of one source, and returns what it means for the union of all; undefined if nothing. */
  write(owner: O, write: Write): Write | undefined {
    const { collection, key, value } = write;
    const first = this.#owners.get(collection)?.get(key);
    const isSole = first === undefined || (first === owner && this.#shared.get(collection)?.has(key) !== true);
    if (isSole) return this.#writeSole(owner, write, first);
    const candidates = this.#candidates(write, first).filter((candidate) => candidate.owner !== owner);
    if (value !== undefined) candidates.push({ owner, value });
    candidates.sort((a, b) => a.owner.order - b.owner.order);
    return this.#record(write, candidates, first);
  }

  /** Records that a source now defines exactly the entries that are written, and returns what this means. */
  *replace(owner: O, writes: readonly Write[]): Generator<Write> {
    const kept = new Map<Collection<unknown>, Set<string>>();
    for (const { collection, key, value } of writes) {
      if (value === undefined) continue;
      const keys = kept.get(collection);
      if (keys === undefined) kept.set(collection, new Set([key]));
      else keys.add(key);
    }
    for (const { collection, key } of this.#entriesOf(owner)) {
      if (kept.get(collection)?.has(key) === true) continue;
      const effect = this.write(owner, { collection, key, value: undefined });
      if (effect !== undefined) yield effect;
    }
    for (const write of writes) {
      const effect = this.write(owner, write);
      if (effect !== undefined) yield effect;
    }
  }

  /** Returns the entries that several sources define. */
  shared(): readonly SharedEntry<O>[] {
    return [...this.#shared].flatMap(([collection, entries]) =>
      [...entries].map(([key, candidates]) => ({ collection, key, owners: candidates.map(({ owner }) => owner) })),
    );
  }

  #writeSole(owner: O, write: Write, first: O | undefined): Write | undefined {
    const { collection, key, value } = write;
    if (value !== undefined) {
      if (first === undefined) getOrCreate(this.#owners, collection).set(key, owner);
      return write;
    }
    return this.#owners.get(collection)?.delete(key) === true ? write : undefined;
  }

  /** Returns the values of an entry that another source defines, or several. */
  #candidates({ collection, key }: Write, first: O): Candidate<O>[] {
    const shared = this.#shared.get(collection)?.get(key);
    return shared === undefined ? [{ owner: first, value: this.#currentValue(collection, key) }] : [...shared];
  }

  #record({ collection, key }: Write, candidates: readonly Candidate<O>[], before: O): Write | undefined {
    const [first] = candidates;
    if (first === undefined) return undefined;
    if (candidates.length > 1) getOrCreate(this.#shared, collection).set(key, candidates);
    else this.#shared.get(collection)?.delete(key);
    getOrCreate(this.#owners, collection).set(key, first.owner);
    const current = this.#currentValue(collection, key);
    return first.owner === before && first.value === current ? undefined : { collection, key, value: first.value };
  }

  *#entriesOf(owner: O): Generator<{ readonly collection: Collection<unknown>; readonly key: string }> {
    for (const [collection, entries] of [...this.#owners])
      for (const [key, first] of [...entries])
        if (first === owner || this.#isShared(collection, key, owner)) yield { collection, key };
  }

  #isShared(collection: Collection<unknown>, key: string, owner: O): boolean {
    return (
      this.#shared
        .get(collection)
        ?.get(key)
        ?.some((candidate) => candidate.owner === owner) ?? false
    );
  }
}

function getOrCreate<K, V>(maps: Map<K, Map<string, V>>, key: K): Map<string, V> {
  let map = maps.get(key);
  if (map === undefined) maps.set(key, (map = new Map()));
  return map;
}
