import type { ResourceSet } from "@istiod/resources";
import { Digest } from "../wire/digest.js";
import type { NameList } from "../wire/names.js";
import { sliceNames, type Sliced } from "../sliced.js";
import { NameIndex } from "./name-index.js";
import { computeDigests, indexedNames, namesDigest, namesOf } from "./set-digest.js";
import { indexSet } from "./set-slices.js";

/** Up to this many names are stored as they are; a set that differs in more is adapted to the current resource set. */
const maxChanges = 64;
/** Estimated size of a name that is stored for one client alone, in bytes. */
const addedBytes = 128;
const encoder = new TextEncoder();

/**
 * The names that a client subscribes to. The names of a resource set are stored once for all clients; each client
 * stores a bit per name if it does not subscribe to all of them, and the names that are not in the resource set.
 */
export class NameSet implements Iterable<string> {
  #shared = NameIndex.empty;
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
    const shared = set !== undefined && set.size > maxChanges && list.size > maxChanges ? set : undefined;
    if (shared !== undefined) yield* computeDigests(shared);
    if (shared !== undefined && list.size === shared.size && list.digest.equals(namesDigest(shared)))
      names.#share(yield* namesOf(shared));
    else {
      yield* names.#select(list, shared === undefined ? NameIndex.empty : yield* namesOf(shared), maxUnshared);
      yield* names.#computeDigest(list);
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
    for (const name of this.#unlike(set)) if (!set.has(name)) yield name;
  }

  /** Returns the names that are not in the resource set. */
  *namesOutside(set: ResourceSet): Sliced<readonly string[]> {
    yield* indexSet(set);
    const names: string[] = [];
    let handled = 0;
    for (const name of this.#unlike(set)) {
      if (++handled % sliceNames === 0) yield 0;
      if (!set.has(name)) names.push(name);
    }
    return names;
  }

  /** Returns names that include those that are not in the resource set. */
  #unlike(set: ResourceSet): Iterable<string> {
    return this.#shared === indexedNames(set) ? this.#added : this;
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
  *compact(set: ResourceSet): Sliced<void> {
    if (this.#added.size + this.#absentCount === 0) return;
    if (this.size === set.size) yield* computeDigests(set);
    if (this.equals(set)) this.#share(yield* namesOf(set));
    else if (this.#added.size + this.#absentCount > maxChanges) yield* this.adaptTo(set);
  }

  /**
   * Shares the names of the resource set that the set contains. Does nothing if their names are shared already. Names
   * must not be added or deleted until this is complete.
   */
  *adaptTo(set: ResourceSet): Sliced<void> {
    yield* computeDigests(set);
    if (this.#shared.digest.equals(namesDigest(set))) return;
    const shares = set.size > maxChanges && this.size > maxChanges;
    if (!shares && this.#shared.size === 0) return;
    // A set that is read between two slices must be complete.
    const adapted = new NameSet();
    yield* adapted.#select(this, shares ? yield* namesOf(set) : NameIndex.empty);
    this.#shared = adapted.#shared;
    this.#absent = adapted.#absent;
    this.#absentCount = adapted.#absentCount;
    this.#added = adapted.#added;
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

  #share(shared: NameIndex): void {
    this.#shared = shared;
    this.#absent = undefined;
    this.#absentCount = 0;
    this.#added = new Set();
    this.#digest = new Digest();
    this.#digest.addAll(shared.digest);
  }

  /** Replaces all names, without their digest. */
  *#select(names: Iterable<string>, shared: NameIndex, maxUnshared = Infinity): Sliced<void> {
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
  }

  /** Computes the digest of the names of a list. */
  *#computeDigest(list: NameList): Sliced<void> {
    if (list.size === this.size) return this.#digest.addAll(list.digest);
    let handled = 0;
    for (const name of this) {
      this.#digest.add(encoder.encode(name));
      if (++handled % sliceNames === 0) yield this.#added.size * addedBytes;
    }
  }
}
