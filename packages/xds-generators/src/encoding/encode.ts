/*
 * In the binary form of protobuf, messages of one type that stand after each other are their merge. So parts that were encoded apart are
 * put together without being decoded, and a part that did not change is not encoded again.
 */

/** Joins encoded parts of one message. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const out = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Already encoded parts of a message as the value of a field of another, one part of that one's encoding. */
export function encodeMessageField(field: number, parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const tag = fieldTag(field, "lengthDelimited");
  const out = new Uint8Array(varintSize(tag) + varintSize(length) + length);
  let at = writeVarint(out, writeVarint(out, 0, tag), length);
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** A text as the value of a field; nothing where it is empty. */
export function encodeStringField(field: number, text: string): Uint8Array {
  if (text === "") return nothing;
  const length = Buffer.byteLength(text);
  const tag = fieldTag(field, "lengthDelimited");
  const out = Buffer.allocUnsafe(varintSize(tag) + varintSize(length) + length);
  out.write(text, writeVarint(out, writeVarint(out, 0, tag), length));
  return out;
}

/** A number from 0 to 2^32 - 1 as the value of a field; nothing where it is 0. */
export function encodeVarintField(field: number, number: number): Uint8Array {
  if (number === 0) return nothing;
  const tag = fieldTag(field, "varint");
  const out = new Uint8Array(varintSize(tag) + varintSize(number));
  writeVarint(out, writeVarint(out, 0, tag), number);
  return out;
}

/** The bytes again, in memory shared with others: an `ArrayBuffer` for each small resource costs more than the resource. */
export function copyToSlab(bytes: Uint8Array): Uint8Array {
  const length = bytes.length;
  if (length > slabSize / 8) return new Uint8Array(bytes);
  if (slabUsed + length > slabSize) {
    slab = new ArrayBuffer(slabSize);
    slabUsed = 0;
  }
  const out = new Uint8Array(slab, slabUsed, length);
  out.set(bytes);
  slabUsed += (length + 7) & ~7;
  return out;
}

/** Reads a number in variable length, and where what follows begins. Precise to 2^53; beyond, only where it ends is. */
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

/** Where the value of a field ends. */
export function skipField(message: Uint8Array, wireType: number, at: number): number {
  switch (wireType) {
    case wireTypes.varint:
      return readVarint(message, at)[1];
    case wireTypes.fixed64:
      return at + 8;
    case wireTypes.lengthDelimited: {
      const [length, start] = readVarint(message, at);
      return start + length;
    }
    case wireTypes.fixed32:
      return at + 4;
    default:
      throw new RangeError(`wire type ${wireType} is not expected`);
  }
}

/** How the end of a field's value is found. */
export const wireTypes = { varint: 0, fixed64: 1, lengthDelimited: 2, fixed32: 5 } as const;
export type WireType = keyof typeof wireTypes;

/** What stands before a field's value. */
export function fieldTag(field: number, wireType: WireType): number {
  return (field << 3) | wireTypes[wireType];
}

/** Bytes that hold a number in variable length. */
export function varintSize(number: number): number {
  return number < 0x80 ? 1 : number < 0x4000 ? 2 : number < 0x20_0000 ? 3 : number < 0x1000_0000 ? 4 : 5;
}

/** Writes a number in variable length, and gives where what follows begins. */
export function writeVarint(out: Uint8Array, at: number, number: number): number {
  let rest = number;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) out[at++] = (rest % 0x80) | 0x80;
  out[at++] = rest;
  return at;
}

const slabSize = 16_384;
let slab = new ArrayBuffer(slabSize);
let slabUsed = 0;

const nothing = new Uint8Array(0);
