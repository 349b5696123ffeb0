import { WireError } from "./wire-error.js";

/** Maximum length of a varint in bytes. */
const maxBytes = 10;

/**
 * Offset after the varint that was read last. Module state, because returning it in an object would cost more than
 * reading.
 */
export let varintEnd = 0;

/**
 * Reads an unsigned varint and sets {@link varintEnd}. The value is exact up to 2^53.
 *
 * @throws WireError `truncated` if it does not end before `to`, `invalid-varint` if it is longer than 10 bytes
 */
export function readVarint(bytes: Uint8Array, from: number, to: number): number {
  const first = from < to ? (bytes[from] as number) : 0x80;
  if (first < 0x80) {
    varintEnd = from + 1;
    return first;
  }
  const last = Math.min(to, from + maxBytes);
  let value = 0;
  let scale = 1;
  for (let at = from; at < last; at++) {
    const byte = bytes[at] as number;
    if (byte < 0x80) {
      varintEnd = at + 1;
      return value + byte * scale;
    }
    value += (byte & 0x7f) * scale;
    scale *= 128;
  }
  if (last < to) throw new WireError("invalid-varint", `varint is longer than ${maxBytes} bytes`);
  throw new WireError("truncated", "varint is truncated");
}

/** Returns the length in bytes of `value` as a varint. `value` must be below 2^32. */
export function varintSize(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}

/** Writes `value` as a varint and returns the offset after it. `value` must be below 2^32. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let rest = value;
  while (rest >= 0x80) {
    target[offset++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[offset++] = rest;
  return offset;
}
