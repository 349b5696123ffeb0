import { hashHigh, hashLow, hashRanges, viewOf } from "./digest.js";

const encoder = new TextEncoder();

/** Finds named versions by a hash of 64 bits, also as they stand in a request, without making strings of them. */
export class VersionTable {
  readonly size: number;
  /** Three numbers a slot: the hash's halves, and the place plus one; 0 where there is none. */
  readonly #slots: Int32Array;
  readonly #last: number;

  constructor(all: Iterable<{ readonly name: string; readonly version: string }>, size: number) {
    this.size = size;
    const slots = 2 ** Math.ceil(Math.log2(Math.max(1, size) * 2));
    this.#slots = new Int32Array(slots * 3);
    this.#last = slots - 1;
    let place = 0;
    for (const { name, version } of all) {
      place++;
      hashOf(name, version);
      const at = this.#slot();
      if (this.#slots[at + 2] !== 0) continue;
      this.#slots[at] = hashHigh;
      this.#slots[at + 1] = hashLow;
      this.#slots[at + 2] = place;
    }
  }

  /** The place of a named version, counted from 0; -1 where it is not there. */
  placeOf(name: string, version: string): number {
    hashOf(name, version);
    return this.#found();
  }

  /** The same of a name and a version that stand in a message. */
  placeOfRanges(view: DataView, nameFrom: number, nameTo: number, versionFrom: number, versionTo: number): number {
    hashRanges(view, nameFrom, nameTo, versionFrom, versionTo);
    return this.#found();
  }

  #found(): number {
    return (this.#slots[this.#slot() + 2] as number) - 1;
  }

  /** Where the hash that was computed last is, or would be. */
  #slot(): number {
    const slots = this.#slots;
    for (let slot = (hashLow ^ (hashLow >>> 15)) & this.#last; ; slot = (slot + 1) & this.#last) {
      const at = slot * 3;
      if (slots[at + 2] === 0 || (slots[at] === hashHigh && slots[at + 1] === hashLow)) return at;
    }
  }
}

/** Of listed versions, those that a table does not have; the places of those that it has are marked. */
export function unmatchedIn(
  list: Iterable<readonly [name: string, version: string]>,
  table: VersionTable,
  marks: Uint8Array,
): (readonly [name: string, version: string])[] {
  const unmatched: (readonly [string, string])[] = [];
  for (const entry of list) {
    const place = table.placeOf(entry[0], entry[1]);
    if (place < 0) unmatched.push(entry);
    else marks[place] = 1;
  }
  return unmatched;
}

function hashOf(name: string, version: string): void {
  const bytes = encoder.encode(name + version);
  const nameTo = bytes.length - Buffer.byteLength(version);
  hashRanges(viewOf(bytes), 0, nameTo, nameTo, bytes.length);
}
