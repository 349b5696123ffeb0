/*
 * In the binary form of protobuf, messages of one type that stand after each other are their merge. So parts that were encoded apart are
 * put together without being decoded, and a part that did not change is not encoded again.
 */

import { fieldTag, varintSize, writeVarint } from "./wire-format.js";

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

const nothing = new Uint8Array(0);
