import { ResourceSet } from "@istiod/resources";
import { Digest } from "../wire/digest.js";
import type { NameList } from "../wire/names.js";
import type { NameIndex } from "./name-index.js";
import { complete, sliceNames, type Sliced } from "../sliced.js";
import { namesDigest, namesOf } from "./set-digest.js";

/** Up to this many names are stored as they are; a set that differs in more is adapted to the current resource set. */
const maxChanges = 64;
const noNames = namesOf(ResourceSet.empty);
/** Estimated size of a name that is stored for one client alone, in bytes. */
const addedBytes = 128;
const encoder = new TextEncoder();

/**
 * The names that a client subscribes to. The names of a resource set are stored once for all clients; each client
 * stores a bit per name if it does not subscribe to all of them, and the names that are not in the resource set.
 */
export class NameSet implements Iterable<string> {
  #shared: NameIndex = noNames;
  /** A bit for each shared name that is absent; undefined if none is. */
  #absent: Uint8Array | undefined;
  #absentCount = 0;
  #added = new Set<string>();
  #digest = new Digest();

  /**
   * Creates a set of the listed names, sharing the names of the resource set.
   *
   * @param maxUnshared number of names that are not shared after which the rest of the list is skipped
   */
  static *of(list: NameList, set: ResourceSet | undefined, maxUnshared = Infinity): Sliced<NameSet> {
    const names = new NameSet();
    if (set !== undefined && list.size === set.size && list.size > maxChanges && list.digest.equals(namesDigest(set)))
      names.#share(set);
    else {
      const shares = set !== undefined && set.size > maxChanges && list.size > maxChanges;
      yield* names.#select(list, shares ? namesOf(set) : noNames, { list, maxUnshared });
    }
    return names;
  }

  get size(): number {
    return this.#shared.size - this.#absentCount + this.#added.size;
  }

  /** The number of names that are stored for this client alone: those that the shared resource set lacks. */
  get unshared(): number {
    return this.#added.size;
  }

  has(name: string): boolean {
    const number = this.#shared.numberOf(name);
    return number === undefined ? this.#added.has(name) : !this.#isAbsent(number);
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
    if (this.#insert(name)) this.#digest.add(encoder.encode(name));
  }

  /** Removes a name. Returns false if it was absent. */
  delete(name: string): boolean {
    const number = this.#shared.numberOf(name);
    if (number === undefined ? !this.#added.delete(name) : this.#isAbsent(number)) return false;
    if (number !== undefined) {
      this.#absent ??= new Uint8Array((this.#shared.size + 7) >> 3);
      this.#absent[number >> 3] = (this.#absent[number >> 3] as number) | (1 << (number & 7));
      this.#absentCount++;
    }
    this.#digest.remove(encoder.encode(name));
    return true;
  }

  /** Shares the names of the resource set if they are equal by now, or if the differences have become too many. */
  compact(set: ResourceSet): void {
    if (this.#added.size + this.#absentCount === 0) return;
    if (this.equals(set)) this.#share(set);
    else if (this.#added.size + this.#absentCount > maxChanges) this.adaptTo(set);
  }

  /** Shares the names of the resource set that the set contains. Does nothing if their names are shared already. */
  adaptTo(set: ResourceSet): void {
    if (this.#shared.digest.equals(namesDigest(set))) return;
    if (set.size > maxChanges && this.size > maxChanges) complete(this.#select([...this], namesOf(set)));
    else if (this.#shared.size > 0) complete(this.#select([...this], noNames));
  }

  *[Symbol.iterator](): Iterator<string> {
    const { names } = this.#shared;
    if (this.#absentCount < names.length)
      for (let number = 0; number < names.length; number++) if (!this.#isAbsent(number)) yield names[number] as string;
    yield* this.#added;
  }

  #isAbsent(number: number): boolean {
    return this.#absent !== undefined && ((this.#absent[number >> 3] as number) & (1 << (number & 7))) !== 0;
  }

  /** Adds a name without its digest. Returns false if it is present. */
  #insert(name: string): boolean {
    const number = this.#shared.numberOf(name);
    if (number === undefined) return this.#added.size < this.#added.add(name).size;
    if (this.#absent === undefined || !this.#isAbsent(number)) return false;
    this.#absent[number >> 3] = (this.#absent[number >> 3] as number) & ~(1 << (number & 7));
    this.#absentCount--;
    return true;
  }

  #share(set: ResourceSet): void {
    this.#shared = namesOf(set);
    this.#absent = undefined;
    this.#absentCount = 0;
    this.#added = new Set();
    this.#digest = new Digest();
    this.#digest.addAll(namesDigest(set));
  }

  /** Replaces all names. @param list the same names with their digest, if they are new */
  *#select(
    names: Iterable<string>,
    shared: NameIndex,
    { list, maxUnshared }: { readonly list?: NameList; readonly maxUnshared: number } = { maxUnshared: Infinity },
  ): Sliced<void> {
    this.#shared = shared;
    this.#absent = shared.size === 0 ? undefined : new Uint8Array((shared.size + 7) >> 3).fill(0xff);
    this.#absentCount = shared.size;
    this.#added = new Set();
    let handled = 0;
    for (const name of names) {
      this.#insert(name);
      if (this.#added.size > maxUnshared) break;
      if (++handled % sliceNames === 0) yield this.#added.size * addedBytes;
    }
    if (list === undefined) return;
    this.#digest = new Digest();
    if (list.size === this.size) return this.#digest.addAll(list.digest);
    for (const name of this) {
      this.#digest.add(encoder.encode(name));
      if (++handled % sliceNames === 0) yield this.#added.size * addedBytes;
    }
  }
}
