import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/*
 * In the binary form of protobuf, messages of one type that stand after each other are their merge. So parts that were encoded apart are
 * put together without being decoded, and a part that did not change is not encoded again.
 */

/** Joins encoded parts of one message. */
export function joinEncoded(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** An already encoded message as the value of a field of another, one part of that one's encoding. */
export function encodedField(field: number, message: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(message).finish();
}
