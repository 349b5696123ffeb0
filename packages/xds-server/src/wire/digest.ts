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
    hash(viewOf(first), 0, first.length, seedHigh, seedLow);
    if (second !== undefined) hash(viewOf(second), 0, second.length, high, low);
    this.#sum(1);
  }

  /** The same for an element that lies within a larger array. */
  addRange(bytes: DataView, from: number, to: number): void {
    hash(bytes, from, to, seedHigh, seedLow);
    this.#sum(1);
  }

  /** The same for one of two parts. */
  addRanges(bytes: DataView, from: number, to: number, from2: number, to2: number): void {
    hashRanges(bytes, from, to, from2, to2);
    this.#sum(1);
  }

  /** Takes away an element of one part. */
  remove(element: Uint8Array): void {
    hash(viewOf(element), 0, element.length, seedHigh, seedLow);
    this.#sum(-1);
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

  #sum(sign: 1 | -1): void {
    this.#high = (this.#high + sign * finish(high)) | 0;
    this.#low = (this.#low + sign * finish(low)) | 0;
    this.size += sign;
  }
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

const seedHigh = 0x2545f491;
const seedLow = 0x1b873593;

/** The two halves of the hash that was computed last. In module scope, as an object for each of millions would cost more than the hash. */
let high = 0;
let low = 0;

export { high as hashHigh, low as hashLow };

/** Computes the hash of an element of two parts, which then stands in {@link hashHigh} and {@link hashLow}. */
export function hashRanges(bytes: DataView, from: number, to: number, from2: number, to2: number): void {
  hash(bytes, from, to, seedHigh, seedLow);
  hash(bytes, from2, to2, high, low);
}

function hash(bytes: DataView, from: number, to: number, h: number, l: number): void {
  h ^= to - from;
  let i = from;
  for (; i + 8 <= to; i += 8) {
    const first = bytes.getInt32(i, true);
    const second = bytes.getInt32(i + 4, true);
    h = Math.imul(h ^ first, 0x9e3779b1);
    l = Math.imul(l ^ second, 0x85ebca77);
    h = ((h ^ (h >>> 15)) + l) | 0;
    l = ((l ^ (l >>> 13)) + first) | 0;
  }
  if (i < to && to - from >= 8) {
    // The last eight bytes, of which some are read again, in place of one after the other.
    h = Math.imul(h ^ bytes.getInt32(to - 8, true), 0x9e3779b1);
    l = Math.imul(l ^ bytes.getInt32(to - 4, true), 0x85ebca77);
    h = ((h ^ (h >>> 15)) + l) | 0;
    l ^= l >>> 13;
    i = to;
  }
  for (; i < to; i++) {
    const byte = bytes.getUint8(i);
    h = Math.imul(h ^ byte, 0x9e3779b1);
    h ^= h >>> 15;
    l = Math.imul(l + byte + 1, 0x85ebca77) ^ (l >>> 13);
  }
  high = h;
  low = l;
}

function finish(value: number): number {
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return value ^ (value >>> 16);
}
