import { readVarint, varintEnd } from "./varint.js";
import { WireError } from "./wire-error.js";
import { wireTypes } from "./wire-type.js";

/** Iterates over the fields of an encoded message without allocating an object per field. */
export class FieldReader {
  field = 0;
  wireType = 0;
  /** Offset of the field's tag. */
  start = 0;
  /** Range of the field's value; for delimited fields without the length. */
  from = 0;
  to = 0;
  /** Value of a varint field. */
  value = 0;
  readonly #bytes: Uint8Array;
  #offset: number;
  #end: number;

  constructor(bytes: Uint8Array, from = 0, to = bytes.length) {
    this.#bytes = bytes;
    this.#offset = from;
    this.#end = to;
  }

  /** Continues with another range of the same bytes. */
  reset(from: number, to: number): void {
    this.#offset = from;
    this.#end = to;
  }

  /** Reports whether the field is length-delimited. */
  get delimited(): boolean {
    return this.wireType === wireTypes.delimited;
  }

  /**
   * Moves to the next field. Returns false at the end of the message.
   *
   * @throws WireError if the bytes are not a message
   */
  next(): boolean {
    if (this.#offset >= this.#end) return false;
    this.start = this.#offset;
    const tag = this.#varint();
    const wireType = (this.wireType = tag & 7);
    this.field = tag >>> 3;
    const length =
      wireType === wireTypes.delimited
        ? this.#varint()
        : wireType === wireTypes.fixed64
          ? 8
          : wireType === wireTypes.fixed32
            ? 4
            : 0;
    this.from = this.#offset;
    if (wireType === wireTypes.varint) this.value = this.#varint();
    else if (length === 0 && wireType !== wireTypes.delimited) {
      throw new WireError("invalid-wire-type", `wire type ${wireType} is invalid`);
    }
    this.to = this.#offset += length;
    if (this.#offset > this.#end) throw new WireError("truncated", "field ends after its message");
    return true;
  }

  #varint(): number {
    const first = this.#offset < this.#end ? (this.#bytes[this.#offset] as number) : 0x80;
    if (first < 0x80) {
      this.#offset++;
      return first;
    }
    const value = readVarint(this.#bytes, this.#offset, this.#end);
    this.#offset = varintEnd;
    return value;
  }
}

/**
 * Returns the last value of a string field, or an empty string if the message has none.
 *
 * @throws WireError if the bytes are not a message
 */
export function readStringField(message: Buffer, field: number): string {
  const reader = new FieldReader(message);
  let [from, to] = [0, 0];
  while (reader.next()) if (reader.field === field && reader.delimited) [from, to] = [reader.from, reader.to];
  return message.toString("utf8", from, to);
}
