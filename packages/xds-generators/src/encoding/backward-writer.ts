import { copyToSlab } from "./slab.js";
import { fieldTag, varintSize, type WireType, writeVarint } from "./wire-format.js";

/**
 * Writes an encoded message from its end to its beginning. A message's length stands before it: written in this direction, it is known
 * when it is due, and nothing is moved or encoded twice. So the last field is written first, and a field's value before its tag.
 */
export class BackwardWriter {
  #buffer = Buffer.allocUnsafeSlow(4096);
  #start = this.#buffer.length;

  /** How many bytes there are. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  /** What was written, copied; the writer is empty then. */
  finish(): Uint8Array {
    const out = copyToSlab(this.#buffer.subarray(this.#start));
    this.#start = this.#buffer.length;
    return out;
  }

  /** Forgets what was written. */
  clear(): void {
    this.#start = this.#buffer.length;
  }

  bytes(bytes: Uint8Array): void {
    this.#buffer.set(bytes, this.#reserve(bytes.length));
  }

  string(text: string): void {
    const length = Buffer.byteLength(text);
    const at = this.#reserve(length);
    this.#buffer.write(text, at, length);
  }

  /** A number from 0 to 2^32 - 1, in variable length. */
  varint(number: number): void {
    const at = this.#reserve(varintSize(number));
    writeVarint(this.#buffer, at, number);
  }

  tag(field: number, wireType: WireType): void {
    this.varint(fieldTag(field, wireType));
  }

  /** Makes what was written since there were `length` bytes the value of a field. */
  closeField(field: number, length: number): void {
    this.varint(this.length - length);
    this.tag(field, "lengthDelimited");
  }

  /** A text as the value of a field; nothing where it is empty. */
  stringField(field: number, text: string): void {
    if (text !== "") this.explicitStringField(field, text);
  }

  /** A text as the value of a field, be it empty: that of a choice, or of a map. */
  explicitStringField(field: number, text: string): void {
    const { length } = this;
    this.string(text);
    this.closeField(field, length);
  }

  /** A number as the value of a field; nothing where it is 0. */
  varintField(field: number, number: number): void {
    if (number === 0) return;
    this.varint(number);
    this.tag(field, "varint");
  }

  /** Makes room for so many bytes, and gives where they begin. */
  #reserve(length: number): number {
    if (length > this.#start) this.#grow(length);
    this.#start -= length;
    return this.#start;
  }

  #grow(length: number): void {
    const written = this.#buffer.subarray(this.#start);
    const larger = Buffer.allocUnsafeSlow(2 * (this.#buffer.length + length));
    larger.set(written, larger.length - written.length);
    this.#start = larger.length - written.length;
    this.#buffer = larger;
  }
}
