import { tagOf, varintSize, type WireType, writeVarint } from "@istiod/protobuf-wire";
import { copyToSlab } from "./slab.js";

/**
 * Writes an encoded message from its end to its beginning. A length prefix is known when it is written, so nothing is
 * moved or encoded twice. The last field is written first, and a field's value before its tag.
 */
export class BackwardWriter {
  #buffer = Buffer.allocUnsafeSlow(4096);
  #start = this.#buffer.length;

  /** The number of bytes written. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  /** Returns a copy of the bytes written, and clears the writer. */
  finish(): Uint8Array {
    const out = copyToSlab(this.#buffer.subarray(this.#start));
    this.#start = this.#buffer.length;
    return out;
  }

  /** Discards the bytes written. */
  clear(): void {
    this.#start = this.#buffer.length;
  }

  bytes(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length);
    this.#buffer.set(bytes, at);
  }

  string(value: string): void {
    const length = Buffer.byteLength(value);
    const at = this.#reserve(length);
    this.#buffer.write(value, at, length);
  }

  /** Writes an integer from 0 to 2^32 - 1. */
  varint(number: number): void {
    const at = this.#reserve(varintSize(number));
    writeVarint(this.#buffer, at, number);
  }

  tag(field: number, wireType: WireType): void {
    this.varint(tagOf(field, wireType));
  }

  /** Turns everything written since the writer had `length` bytes into the value of a field. */
  closeField(field: number, length: number): void {
    this.varint(this.length - length);
    this.tag(field, "delimited");
  }

  /** Writes a string field; nothing for an empty string. */
  stringField(field: number, value: string): void {
    if (value !== "") this.explicitStringField(field, value);
  }

  /** Writes a string field even if it is empty, as a oneof or a map entry requires. */
  explicitStringField(field: number, value: string): void {
    const { length } = this;
    this.string(value);
    this.closeField(field, length);
  }

  /** Writes a varint field; nothing for 0. */
  varintField(field: number, number: number): void {
    if (number === 0) return;
    this.varint(number);
    this.tag(field, "varint");
  }

  /** Reserves space in front of the written bytes and returns its offset. */
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
