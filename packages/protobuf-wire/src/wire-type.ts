import { readVarint, varintEnd } from "./varint.js";
import { WireError } from "./wire-error.js";

/** The wire types, except for the deprecated groups. */
export const wireTypes = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

export type WireType = keyof typeof wireTypes;

/** Returns the tag of a field. The largest field number is 2^29 - 1. */
export function tagOf(field: number, wireType: WireType): number {
  return ((field << 3) | wireTypes[wireType]) >>> 0;
}

/**
 * Returns the offset after a field's value.
 *
 * @param from offset after the tag
 * @throws WireError if the wire type is invalid or the value is truncated
 */
export function skipValue(bytes: Uint8Array, wireType: number, from: number): number {
  const end = valueEnd(bytes, wireType, from);
  if (end > bytes.length) throw new WireError("truncated", "field ends after its message");
  return end;
}

function valueEnd(bytes: Uint8Array, wireType: number, from: number): number {
  switch (wireType) {
    case wireTypes.varint:
      readVarint(bytes, from, bytes.length);
      return varintEnd;
    case wireTypes.fixed64:
      return from + 8;
    case wireTypes.delimited: {
      const length = readVarint(bytes, from, bytes.length);
      return varintEnd + length;
    }
    case wireTypes.fixed32:
      return from + 4;
    default:
      throw new WireError("invalid-wire-type", `wire type ${wireType} is invalid`);
  }
}
