import { sliceNames, type Sliced } from "../sliced.js";
import { hashHigh, hashLow, hashRanges, viewOf } from "./digest.js";

const encoder = new TextEncoder();

export type NameVersion = readonly [name: string, version: string];

/** Estimated size of an entry that a table lacks, in bytes. */
export const unmatchedBytes = 256;

/**
 * A hash table of names with versions, keyed by a 64-bit hash, so that encoded requests can be looked up without
 * decoding strings.
 */
export class VersionTable {
  readonly size: number;
  /** Three numbers per slot: the halves of the hash and the index plus one; 0 if empty. */
  readonly #slots: Int32Array;
  readonly #last: number;

  private constructor(size: number) {
    this.size = size;
    const slots = 2 ** Math.ceil(Math.log2(Math.max(1, size) * 2));
    this.#slots = new Int32Array(slots * 3);
    this.#last = slots - 1;
  }

  /** Creates a table of `size` resources. */
  static *of(all: Iterable<{ readonly name: string; readonly version: string }>, size: number): Sliced<VersionTable> {
    const table = new VersionTable(size);
    let index = 0;
    for (const { name, version } of all) {
      if (++index % sliceNames === 0) yield 0;
      hashOf(name, version);
      table.#add(index);
    }
    return table;
  }

  /** Adds the last hash. */
  #add(index: number): void {
    const at = this.#slot();
    if (this.#slots[at + 2] !== 0) return;
    this.#slots[at] = hashHigh;
    this.#slots[at + 1] = hashLow;
    this.#slots[at + 2] = index;
  }

  /** Returns the zero-based index of a name with this version, or -1. */
  indexOf(name: string, version: string): number {
    hashOf(name, version);
    return this.#lookup();
  }

  /** Returns the index of a name with this version, both given as ranges of a message. */
  indexOfRanges(view: DataView, nameFrom: number, nameTo: number, versionFrom: number, versionTo: number): number {
    hashRanges(view, nameFrom, nameTo, versionFrom, versionTo);
    return this.#lookup();
  }

  #lookup(): number {
    return (this.#slots[this.#slot() + 2] as number) - 1;
  }

  /** Returns the offset of the slot that has, or would have, the last hash. */
  #slot(): number {
    const slots = this.#slots;
    for (let slot = (hashLow ^ (hashLow >>> 15)) & this.#last; ; slot = (slot + 1) & this.#last) {
      const at = slot * 3;
      if (slots[at + 2] === 0 || (slots[at] === hashHigh && slots[at + 1] === hashLow)) return at;
    }
  }
}

/** Returns the entries that are not in the table, and sets the marks of those that are. */
export function* unmatchedIn(
  list: Iterable<NameVersion>,
  table: VersionTable,
  marks: Uint8Array,
): Sliced<NameVersion[]> {
  const unmatched: NameVersion[] = [];
  let handled = 0;
  for (const entry of list) {
    const index = table.indexOf(entry[0], entry[1]);
    if (index < 0) unmatched.push(entry);
    else marks[index] = 1;
    if (++handled % sliceNames === 0) yield unmatched.length * unmatchedBytes;
  }
  return unmatched;
}

function hashOf(name: string, version: string): void {
  const bytes = encoder.encode(name + version);
  const nameTo = bytes.length - Buffer.byteLength(version);
  hashRanges(viewOf(bytes), 0, nameTo, nameTo, bytes.length);
}
