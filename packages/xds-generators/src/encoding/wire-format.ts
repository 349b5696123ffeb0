/** Wire types of protobuf that this package reads or writes. */
export const wireTypes = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

export type WireType = keyof typeof wireTypes;

/** Returns the tag of a field. */
export function tagOf(field: number, wireType: WireType): number {
  return (field << 3) | wireTypes[wireType];
}

/** Returns the encoded size of an integer in bytes. */
export function varintSize(number: number): number {
  return number < 0x80 ? 1 : number < 0x4000 ? 2 : number < 2097152 ? 3 : number < 268435456 ? 4 : 5;
}

/**
 * Reads a varint and returns it with the offset behind it. Exact up to 2^53; beyond, only the offset is. @throws
 * RangeError if it is truncated
 */
export function readVarint(bytes: Uint8Array, start: number): readonly [number: number, end: number] {
  let number = 0;
  let scale = 1;
  for (let at = start; at < bytes.length; at++, scale *= 0x80) {
    const byte = bytes[at] as number;
    number += (byte & 0x7f) * scale;
    if (byte < 0x80) return [number, at + 1];
  }
  throw new RangeError("a number is cut off");
}

/** Writes a varint and returns the offset behind it. */
export function writeVarint(out: Uint8Array, at: number, number: number): number {
  let rest = number;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) out[at++] = (rest % 0x80) | 0x80;
  out[at++] = rest;
  return at;
}

/** Returns the offset behind a field's value. @throws RangeError for an unsupported wire type */
export function skipValue(message: Uint8Array, wireType: number, at: number): number {
  switch (wireType) {
    case wireTypes.varint:
      return readVarint(message, at)[1];
    case wireTypes.fixed64:
      return at + 8;
    case wireTypes.delimited: {
      const [length, start] = readVarint(message, at);
      return start + length;
    }
    case wireTypes.fixed32:
      return at + 4;
    default:
      throw new RangeError(`wire type ${wireType} is not expected`);
  }
}
