import type { ResourceSet } from "@istiod/resources";
import { Digest } from "../wire/digest.js";
import type { NameList } from "../wire/names.js";
import { namesDigest, namesOf } from "./set-digest.js";

/** With more changes than this, a collection of its own costs less than a shared one with changes. */
const fewChanges = 64;
const nobody: ReadonlySet<string> = new Set();
const encoder = new TextEncoder();

/**
 * Names that a client subscribes to. Thousands of clients mostly subscribe to exactly the names of a set: these share
 * one collection, and keep what is different for themselves.
 */
export class NameSet implements Iterable<string> {
  #shared: ReadonlySet<string> = nobody;
  #added = new Set<string>();
  #removed = new Set<string>();
  #digest = new Digest();

  /** The listed names; if they are those of the set, or nearly, by what all who list them share. */
  static of(list: NameList, set: ResourceSet | undefined): NameSet {
    const names = new NameSet();
    if (set === undefined || set.size <= fewChanges || Math.abs(list.size - set.size) > fewChanges) {
      for (const name of list) names.add(name);
      return names;
    }
    names.#share(set);
    if (list.size === set.size && list.digest.equals(names.#digest)) return names;
    const listed = new Set(list);
    for (const name of listed) names.add(name);
    for (const name of names.#shared) if (!listed.has(name)) names.delete(name);
    names.compact(set);
    return names;
  }

  get size(): number {
    return this.#shared.size + this.#added.size - this.#removed.size;
  }

  has(name: string): boolean {
    return this.#added.has(name) || (this.#shared.has(name) && !this.#removed.has(name));
  }

  /** Whether these are the names of the set. */
  equals(set: ResourceSet): boolean {
    return this.size === set.size && this.#digest.equals(namesDigest(set));
  }

  /** Those that are not names of the set. */
  *outside(set: ResourceSet): Generator<string> {
    const shares = this.#shared.size === set.size && this.#shared === namesOf(set);
    for (const name of shares ? this.#added : this) if (!set.has(name)) yield name;
  }

  add(name: string): void {
    if (this.has(name)) return;
    if (!this.#removed.delete(name)) this.#added.add(name);
    this.#digest.add(encoder.encode(name));
  }

  /** False if it was not there. */
  delete(name: string): boolean {
    if (!this.has(name)) return false;
    if (!this.#added.delete(name)) this.#removed.add(name);
    this.#digest.remove(encoder.encode(name));
    return true;
  }

  /** Keeps less for itself, if that has come to be what all share who have this set, or too much. */
  compact(set: ResourceSet): void {
    if (this.#added.size + this.#removed.size === 0) return;
    if (this.equals(set)) this.#share(set);
    else if (this.#shared.size > 0 && this.#added.size + this.#removed.size > fewChanges) {
      this.#added = new Set(this);
      this.#removed = new Set();
      this.#shared = nobody;
    }
  }

  *[Symbol.iterator](): Iterator<string> {
    for (const name of this.#shared) if (!this.#removed.has(name)) yield name;
    yield* this.#added;
  }

  #share(set: ResourceSet): void {
    this.#shared = namesOf(set);
    this.#added = new Set();
    this.#removed = new Set();
    this.#digest = new Digest();
    this.#digest.addAll(namesDigest(set));
  }
}
