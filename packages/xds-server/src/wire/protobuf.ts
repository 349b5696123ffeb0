/** Bytes that `n` takes as a varint. For lengths: n < 2^32. */
export function varintSize(n: number): number {
  return n < 0x80 ? 1 : n < 0x4000 ? 2 : n < 0x20_0000 ? 3 : n < 0x1000_0000 ? 4 : 5;
}

/** Writes `n` and gives the offset after it. */
export function writeVarint(target: Buffer, offset: number, n: number): number {
  while (n >= 0x80) {
    target[offset++] = (n & 0x7f) | 0x80;
    n >>>= 7;
  }
  target[offset++] = n;
  return offset;
}

/** Writes a length-delimited field with a number below 16 and gives the offset after its header. */
export function writeHeader(target: Buffer, offset: number, field: number, length: number): number {
  target[offset++] = (field << 3) | 2;
  return writeVarint(target, offset, length);
}

export function stringFieldSize(byteLength: number): number {
  return 1 + varintSize(byteLength) + byteLength;
}

/** Writes a string field whose length in UTF-8 is known and gives the offset after it. */
export function writeString(target: Buffer, offset: number, field: number, text: string, byteLength: number): number {
  offset = writeHeader(target, offset, field, byteLength);
  return offset + target.write(text, offset, byteLength === text.length ? "latin1" : "utf8");
}

/** A length-delimited field of a message: its number, and where its value is. */
export interface Field {
  readonly number: number;
  readonly value: Uint8Array;
}

/** The length-delimited fields of an encoded message; those of other wire types are skipped. Ends early where the bytes are not a message. */
export function* fieldsOf(message: Uint8Array): Generator<Field> {
  let offset = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; offset < message.length; shift *= 128) {
      const byte = message[offset++] ?? 0;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
    }
    return Infinity;
  };
  while (offset < message.length) {
    const tag = varint();
    const wireType = tag % 8;
    if (wireType === 0) varint();
    else if (wireType === 1) offset += 8;
    else if (wireType === 5) offset += 4;
    else if (wireType === 2) {
      const length = varint();
      if (offset + length > message.length) return;
      yield { number: Math.floor(tag / 8), value: message.subarray(offset, offset + length) };
      offset += length;
    } else return;
  }
}
