import type { ResourceSet } from "@istiod/resources";
import { Digest } from "../wire/digest.js";
import type { NameList } from "../wire/names.js";
import { namesDigest, namesOf } from "./set-digest.js";

/** With more changes than this, a separate set costs less than a shared set with changes. */
const maxChanges = 64;
const noNames: ReadonlySet<string> = new Set();
const encoder = new TextEncoder();

/**
 * The names that a client subscribes to. Most clients subscribe to exactly the names of a resource set; they share one
 * collection and store their differences from it.
 */
export class NameSet implements Iterable<string> {
  #shared: ReadonlySet<string> = noNames;
  #added = new Set<string>();
  #removed = new Set<string>();
  #digest = new Digest();

  /** Creates a set of the listed names, sharing the names of the resource set if they are nearly the same. */
  static of(list: NameList, set: ResourceSet | undefined): NameSet {
    const names = new NameSet();
    if (set === undefined || set.size <= maxChanges || Math.abs(list.size - set.size) > maxChanges) {
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

  /** Reports whether these are exactly the names of the resource set. */
  equals(set: ResourceSet): boolean {
    return this.size === set.size && this.#digest.equals(namesDigest(set));
  }

  /** Iterates over the names that are not in the resource set. */
  *outside(set: ResourceSet): Generator<string> {
    const shares = this.#shared.size === set.size && this.#shared === namesOf(set);
    for (const name of shares ? this.#added : this) if (!set.has(name)) yield name;
  }

  add(name: string): void {
    if (this.has(name)) return;
    if (!this.#removed.delete(name)) this.#added.add(name);
    this.#digest.add(encoder.encode(name));
  }

  /** Removes a name. Returns false if it was absent. */
  delete(name: string): boolean {
    if (!this.has(name)) return false;
    if (!this.#added.delete(name)) this.#removed.add(name);
    this.#digest.remove(encoder.encode(name));
    return true;
  }

  /**
   * Shares the names of the resource set if they are equal by now, or stops sharing if the differences have become too
   * many.
   */
  compact(set: ResourceSet): void {
    if (this.#added.size + this.#removed.size === 0) return;
    if (this.equals(set)) this.#share(set);
    else if (this.#shared.size > 0 && this.#added.size + this.#removed.size > maxChanges) {
      this.#added = new Set(this);
      this.#removed = new Set();
      this.#shared = noNames;
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
