/**
 * Walks over the fields of an encoded message, without an object for each.
 *
 * `next` throws RangeError for bytes that are not a message.
 */
export class Reader {
  field = 0;
  /** Whether the field is length-delimited, so that `from` and `to` are the range of its value. */
  delimited = false;
  from = 0;
  to = 0;
  /** The value of a varint field. */
  value = 0;
  readonly #bytes: Uint8Array;
  #offset: number;
  #end: number;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.#bytes = bytes;
    this.#offset = from;
    this.#end = to;
  }

  reset(from: number, to: number): void {
    this.#offset = from;
    this.#end = to;
  }

  /** Goes to the next field. False at the end. */
  next(): boolean {
    if (this.#offset >= this.#end) return false;
    const tag = this.#varint();
    const wireType = tag & 7;
    this.field = tag >>> 3;
    this.delimited = wireType === 2;
    if (wireType === 2) {
      const length = this.#varint();
      this.from = this.#offset;
      this.to = this.#offset + length;
      this.#offset = this.to;
    } else if (wireType === 0) this.value = this.#varint();
    else if (wireType === 1) this.#offset += 8;
    else if (wireType === 5) this.#offset += 4;
    else throw new RangeError(`wire type ${wireType}`);
    if (this.#offset > this.#end) throw new RangeError("a field ends after its message");
    return true;
  }

  #varint(): number {
    let value = 0;
    let scale = 1;
    while (this.#offset < this.#end) {
      const byte = this.#bytes[this.#offset++] as number;
      if (byte < 0x80) return value + byte * scale;
      value += (byte & 0x7f) * scale;
      scale *= 128;
    }
    throw new RangeError("a number ends after its message");
  }
}
