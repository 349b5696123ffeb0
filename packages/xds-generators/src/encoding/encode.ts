/*
 * In protobuf's wire format, the concatenation of encoded messages of one type is their merge. So parts can be encoded
 * separately and joined without decoding, and an unchanged part is not encoded again.
 */

import { tagOf, varintSize, writeVarint } from "./wire-format.js";

/** Concatenates encoded parts of one message. */
export function joinEncoded(parts: readonly Uint8Array[]): Uint8Array {
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

/** Encodes a message field from encoded parts of the message. */
export function encodeMessageField(field: number, parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const tag = tagOf(field, "delimited");
  const out = new Uint8Array(varintSize(tag) + varintSize(length) + length);
  let at = writeVarint(out, writeVarint(out, 0, tag), length);
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Encodes a string field; empty for an empty string. */
export function encodeStringField(field: number, value: string): Uint8Array {
  if (value === "") return noBytes;
  const length = Buffer.byteLength(value);
  const tag = tagOf(field, "delimited");
  const out = Buffer.allocUnsafe(varintSize(tag) + varintSize(length) + length);
  out.write(value, writeVarint(out, writeVarint(out, 0, tag), length));
  return out;
}

/** Encodes a varint field with an integer from 0 to 2^32 - 1; empty for 0. */
export function encodeVarintField(field: number, number: number): Uint8Array {
  if (number === 0) return noBytes;
  const tag = tagOf(field, "varint");
  const out = new Uint8Array(varintSize(tag) + varintSize(number));
  writeVarint(out, writeVarint(out, 0, tag), number);
  return out;
}

const noBytes = new Uint8Array(0);
