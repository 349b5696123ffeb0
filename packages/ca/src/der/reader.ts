import { tags } from "./tags.js";

/** The bytes are not DER, or not of the expected type. */
export class DerError extends Error {
  override readonly name = "DerError";
}

/** Longest length field: elements of up to 16 MB. */
const maxLengthOctets = 3;

/**
 * Reads consecutive elements of DER (X.690). Accepts only minimal definite lengths and tag numbers below 31, which
 * suffice for certificates. Never copies.
 */
export class DerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Returns the identifier octet of the next element; undefined at the end. */
  get nextTag(): number | undefined {
    return this.#bytes[this.#at];
  }

  /** Reads an element and returns its contents. @throws DerError */
  contents(tag: number, what: string): Buffer {
    const { start, end } = this.#element(tag, what);
    this.#at = end;
    return this.#bytes.subarray(start, end);
  }

  /** Reads an element and returns it with its header. @throws DerError */
  element(tag: number, what: string): Buffer {
    const from = this.#at;
    const { end } = this.#element(tag, what);
    this.#at = end;
    return this.#bytes.subarray(from, end);
  }

  /** Reads an element and returns a reader of its contents. @throws DerError */
  enter(tag: number, what: string): DerReader {
    return new DerReader(this.contents(tag, what));
  }

  /** Reads a positive INTEGER and returns its magnitude, without a leading zero. @throws DerError */
  positiveInteger(what: string): Buffer {
    const bytes = this.contents(tags.integer, what);
    const [first = 0x80, second] = bytes;
    if (first >= 0x80) throw new DerError(`${what}: expected a positive number`);
    if (first !== 0) return bytes;
    if (second === undefined || second < 0x80) throw new DerError(`${what}: not a positive number in its minimal form`);
    return bytes.subarray(1);
  }

  /** Reads a BIT STRING of whole octets. @throws DerError */
  octetsOfBitString(what: string): Buffer {
    const bytes = this.contents(tags.bitString, what);
    if (bytes[0] !== 0) throw new DerError(`${what}: expected whole octets`);
    return bytes.subarray(1);
  }

  /** @throws DerError if another element follows */
  end(what: string): void {
    if (!this.isAtEnd) throw new DerError(`${what}: unexpected bytes at the end`);
  }

  #element(tag: number, what: string): { start: number; end: number } {
    const actual = this.#bytes[this.#at];
    if (actual === undefined) throw new DerError(`${what}: missing`);
    if (actual !== tag) throw new DerError(`${what}: found tag 0x${hex(actual)}, expected 0x${hex(tag)}`);
    const { length, start } = this.#length(this.#at + 1, what);
    if (length > this.#bytes.length - start) throw new DerError(`${what}: longer than what contains it`);
    return { start, end: start + length };
  }

  #length(at: number, what: string): { length: number; start: number } {
    const first = this.#bytes[at];
    if (first === undefined) throw new DerError(`${what}: truncated`);
    if (first < 0x80) return { length: first, start: at + 1 };
    const octets = first & 0x7f;
    if (octets === 0 || octets > maxLengthOctets) throw new DerError(`${what}: length is indefinite or too large`);
    if (at + 1 + octets > this.#bytes.length) throw new DerError(`${what}: truncated`);
    const length = this.#bytes.readUIntBE(at + 1, octets);
    if (length < 0x80 || length < 2 ** (8 * (octets - 1))) throw new DerError(`${what}: length is not minimal`);
    return { length, start: at + 1 + octets };
  }
}

function hex(octet: number): string {
  return octet.toString(16).padStart(2, "0");
}
