import { varintSize, writeVarint } from "./varint.js";
import { tagOf } from "./wire-type.js";

/** Returns the length of a delimited field with a number below 16, including tag and length. */
export function delimitedFieldSize(byteLength: number): number {
  return 1 + varintSize(byteLength) + byteLength;
}

/** Writes the tag and length of a delimited field with a number below 16. Returns the offset after them. */
export function writeDelimitedHeader(target: Buffer, offset: number, field: number, length: number): number {
  target[offset++] = tagOf(field, "delimited");
  return writeVarint(target, offset, length);
}

/** Writes a string field with a number below 16 and a known length in UTF-8. Returns the offset after it. */
export function writeString(target: Buffer, offset: number, field: number, text: string, byteLength: number): number {
  offset = writeDelimitedHeader(target, offset, field, byteLength);
  return offset + target.write(text, offset, byteLength === text.length ? "latin1" : "utf8");
}
