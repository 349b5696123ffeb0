/**
 * A digest of a collection that does not depend on its order: the sum of a hash of each element. It tells in one pass over
 * encoded bytes, without making strings of them, whether a client names exactly what a set has. 64 bits: enough for chance;
 * whoever makes a collision on purpose deceives itself about its own subscription only.
 */
export class Digest {
  size = 0;
  #high = 0;
  #low = 0;

  /** Adds an element of one or two parts. */
  add(first: Uint8Array, second?: Uint8Array): void {
    this.addRange(first, 0, first.length, second, 0, second?.length ?? 0);
  }

  /** The same for parts that lie within larger arrays. */
  addRange(first: Uint8Array, from: number, to: number, second?: Uint8Array, from2 = 0, to2 = 0): void {
    hashInto(first, from, to, 0x2545f491, 0x1b873593);
    if (second !== undefined) hashInto(second, from2, to2, a, b);
    this.#high = (this.#high + finish(a)) | 0;
    this.#low = (this.#low + finish(b)) | 0;
    this.size++;
  }

  /** Adds all elements of another. */
  addAll(other: Digest): void {
    this.#high = (this.#high + other.#high) | 0;
    this.#low = (this.#low + other.#low) | 0;
    this.size += other.size;
  }

  equals(other: Digest): boolean {
    return this.size === other.size && this.#high === other.#high && this.#low === other.#low;
  }
}

/** The two lanes of the hash that was computed last: numbers in module scope, as an object for each of millions would cost more than the hash. */
let a = 0;
let b = 0;

function hashInto(bytes: Uint8Array, from: number, to: number, seedA: number, seedB: number): void {
  let high = seedA ^ (to - from);
  let low = seedB;
  let i = from;
  for (; i + 4 <= to; i += 4) {
    const word = at(bytes, i) | (at(bytes, i + 1) << 8) | (at(bytes, i + 2) << 16) | (at(bytes, i + 3) << 24);
    high = Math.imul(high ^ word, 0x9e3779b1);
    high ^= high >>> 15;
    low = Math.imul(low + word, 0x85ebca77) ^ (low >>> 13);
  }
  for (; i < to; i++) {
    high = Math.imul(high ^ at(bytes, i), 0x9e3779b1);
    low = Math.imul(low + at(bytes, i) + 1, 0x85ebca77) ^ (low >>> 13);
  }
  a = high;
  b = low;
}

function at(bytes: Uint8Array, i: number): number {
  return bytes[i] as number;
}

function finish(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
