/**
 * Walks over the fields of an encoded message, without an object for each.
 *
 * `next` throws RangeError for bytes that are not a message.
 */
export class Reader {
  field = 0;
  wireType = 0;
  /** Where the field begins, with its tag. */
  start = 0;
  /** The range of its value; without the length, if that is delimited. */
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

  /** Whether the field is length-delimited. */
  get delimited(): boolean {
    return this.wireType === 2;
  }

  /** Goes to the next field. False at the end. */
  next(): boolean {
    if (this.#offset >= this.#end) return false;
    this.start = this.#offset;
    const tag = this.#varint();
    const wireType = (this.wireType = tag & 7);
    this.field = tag >>> 3;
    const length = wireType === 2 ? this.#varint() : wireType === 1 ? 8 : wireType === 5 ? 4 : 0;
    this.from = this.#offset;
    if (wireType === 0) this.value = this.#varint();
    else if (wireType > 2 && wireType !== 5) throw new RangeError(`wire type ${wireType}`);
    this.to = this.#offset += length;
    if (this.#offset > this.#end) throw new RangeError("a field ends after its message");
    return true;
  }

  #varint(): number {
    const first = this.#offset < this.#end ? (this.#bytes[this.#offset] as number) : 0x80;
    if (first < 0x80) {
      this.#offset++;
      return first;
    }
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
