import { tags } from "./tags.js";

/** Encodes an element of DER with the given contents. */
export function derElement(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const length = contents.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([header(tag, length), ...contents]);
}

/** Encodes a positive INTEGER from its big-endian magnitude. */
export function derInteger(magnitude: Uint8Array): Buffer {
  const first = magnitude.findIndex((octet) => octet !== 0);
  const minimal = first < 0 ? Uint8Array.of(0) : magnitude.subarray(first);
  return (minimal[0] ?? 0) < 0x80
    ? derElement(tags.integer, minimal)
    : derElement(tags.integer, Uint8Array.of(0), minimal);
}

/**
 * Encodes a time as RFC 5280 §4.1.2.5 requires: UTCTime before 2050, GeneralizedTime from then on. Fractions of
 * a second are dropped.
 *
 * @param time milliseconds since the epoch, within the years 1950 to 9999
 */
export function derTime(time: number): Buffer {
  const digits = `${new Date(time).toISOString().slice(0, 19).replace(/[-:T]/g, "")}Z`;
  return digits < "2050"
    ? derElement(tags.utcTime, Buffer.from(digits.slice(2), "latin1"))
    : derElement(tags.generalizedTime, Buffer.from(digits, "latin1"));
}

function header(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.of(tag, length);
  if (length < 0x100) return Buffer.of(tag, 0x81, length);
  if (length < 0x1_0000) return Buffer.of(tag, 0x82, length >> 8, length & 0xff);
  return Buffer.of(tag, 0x83, length >> 16, (length >> 8) & 0xff, length & 0xff);
}
