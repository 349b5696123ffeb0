/**
 * An order-independent digest of a collection: the sum of a 64-bit hash of each element. It is computed in one pass
 * over encoded bytes, without decoding strings, to compare a client's list with a set. A client that provokes a
 * collision affects its own subscription only.
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

  /** Adds an element that is a range of a larger array. */
  addRange(bytes: DataView, from: number, to: number): void {
    hash(bytes, from, to, seedHigh, seedLow);
    this.#sum(1);
  }

  /** Adds an element of two parts that are ranges of a larger array. */
  addRanges(bytes: DataView, from: number, to: number, from2: number, to2: number): void {
    hashRanges(bytes, from, to, from2, to2);
    this.#sum(1);
  }

  /** Removes an element of one or two parts. */
  remove(first: Uint8Array, second?: Uint8Array): void {
    hash(viewOf(first), 0, first.length, seedHigh, seedLow);
    if (second !== undefined) hash(viewOf(second), 0, second.length, high, low);
    this.#sum(-1);
  }

  /** Adds all elements of another digest. */
  addAll(other: Digest): void {
    this.#high = (this.#high + other.#high) | 0;
    this.#low = (this.#low + other.#low) | 0;
    this.size += other.size;
  }

  equals(other: Digest): boolean {
    return this.size === other.size && this.#high === other.#high && this.#low === other.#low;
  }

  toString(): string {
    return `${this.size}.${this.#high >>> 0}.${this.#low >>> 0}`;
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

/** The halves of the last hash. Module state, because allocating a result object would cost more than the hash. */
let high = 0;
let low = 0;

export { high as hashHigh, low as hashLow };

/** Computes the hash of an element of two parts into {@link hashHigh} and {@link hashLow}. */
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
    // Reads the last eight bytes again, overlapping the previous block, instead of byte by byte.
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
