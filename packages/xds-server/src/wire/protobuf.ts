/** Bytes that `n` takes as a varint. For lengths: n < 2^32. */
export function varintSize(n: number): number {
  return n < 0x80 ? 1 : n < 0x4000 ? 2 : n < 0x20_0000 ? 3 : n < 0x1000_0000 ? 4 : 5;
}

/** Writes `n` and gives the offset after it. */
function writeVarint(target: Buffer, offset: number, n: number): number {
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
