import { readVarint, varintEnd } from "@istiod/protobuf-wire";

export {
  encodeMessageField as encodedField,
  encodeStringField as encodedText,
  encodeVarintField as encodedNumber,
  joinEncoded,
  skipValue,
  tagOf,
  varintSize as sizeOf,
  type WireType,
  wireTypes,
  writeVarint as writeNumber,
} from "@istiod/protobuf-wire";

/** Reads a varint. Returns its value, exact up to 2^53, and the offset after it. */
export function readNumber(bytes: Uint8Array, start: number): readonly [number: number, end: number] {
  const value = readVarint(bytes, start, bytes.length);
  return [value, varintEnd];
}

/** Copies bytes into a shared slab, because an `ArrayBuffer` for each small resource costs more than the resource. */
export function copyOf(bytes: Uint8Array): Uint8Array {
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

const slabSize = 16_384;
let slab = new ArrayBuffer(slabSize);
let slabUsed = 0;
