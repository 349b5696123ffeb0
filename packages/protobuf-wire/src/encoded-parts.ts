import { varintSize, writeVarint } from "./varint.js";
import { tagOf } from "./wire-type.js";

/*
 * Concatenated encodings of a message type are the encoding of the merged message. Parts that were encoded separately
 * can therefore be joined without decoding them, and unchanged parts are not encoded again.
 */

/** Concatenates encoded parts of one message. */
export function joinEncoded(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(lengthOf(parts));
  copyParts(joined, 0, parts);
  return joined;
}

/** Encodes a field whose value is a message in encoded parts. */
export function encodeMessageField(field: number, parts: readonly Uint8Array[]): Uint8Array {
  const length = lengthOf(parts);
  const tag = tagOf(field, "delimited");
  const encoded = new Uint8Array(varintSize(tag) + varintSize(length) + length);
  copyParts(encoded, writeVarint(encoded, writeVarint(encoded, 0, tag), length), parts);
  return encoded;
}

/** Returns the parts of a field whose value is a message in encoded parts, which are not copied. */
export function messageFieldParts(field: number, parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const length = lengthOf(parts);
  const tag = tagOf(field, "delimited");
  const header = new Uint8Array(varintSize(tag) + varintSize(length));
  writeVarint(header, writeVarint(header, 0, tag), length);
  return [header, ...parts];
}

/** Encodes a string field; empty if the string is empty. */
export function encodeStringField(field: number, text: string): Uint8Array {
  if (text === "") return nothing;
  const length = Buffer.byteLength(text);
  const tag = tagOf(field, "delimited");
  const encoded = Buffer.allocUnsafe(varintSize(tag) + varintSize(length) + length);
  encoded.write(text, writeVarint(encoded, writeVarint(encoded, 0, tag), length));
  return encoded;
}

/** Encodes a varint field with a value from 0 to 2^32 - 1; empty if the value is 0. */
export function encodeVarintField(field: number, value: number): Uint8Array {
  if (value === 0) return nothing;
  const tag = tagOf(field, "varint");
  const encoded = new Uint8Array(varintSize(tag) + varintSize(value));
  writeVarint(encoded, writeVarint(encoded, 0, tag), value);
  return encoded;
}

const nothing = new Uint8Array(0);

function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

function copyParts(target: Uint8Array, offset: number, parts: readonly Uint8Array[]): void {
  for (const part of parts) {
    target.set(part, offset);
    offset += part.length;
  }
}
