import { reasonOf } from "@istiod/runtime";

/** Maximum lengths in bytes (RFC 1035 §2.3.4). A name's length counts its length bytes and the root label. */
export const MAX_LABEL_BYTES = 63;
export const MAX_NAME_BYTES = 255;

/** Compression pointers have both high bits set (RFC 1035 §4.1.4). */
const POINTER = 0xc0;
/** Pointers to follow in one name. A name has at most 127 labels. */
const MAX_POINTERS = 127;
const HYPHEN = 0x2d;
const UNDERSCORE = 0x5f;
const ASTERISK = 0x2a;

/** A malformed DNS message. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

/**
 * Reads a name without compression. Bytes that no hostname has, such as dots and newlines in a label, are escaped as
 * `\DDD` (RFC 1035 §5.1), so that the text of a name is unambiguous and safe to log.
 *
 * @throws MalformedMessage
 */
export function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let offset = start;
  for (;;) {
    const length = byteAt(message, offset);
    if (length > MAX_LABEL_BYTES) throw new MalformedMessage(`label of ${length} bytes or a pointer in a question`);
    offset += 1;
    if (offset + length > message.length) throw new MalformedMessage("name exceeds the message");
    if (offset + length - start > MAX_NAME_BYTES) throw new MalformedMessage("name is longer than 255 bytes");
    if (length === 0) return { name: labels.join("."), end: offset };
    labels.push(labelText(message.subarray(offset, offset + length)));
    offset += length;
  }
}

/**
 * Checks a name that may be compressed, and returns the offset after it. Pointers must lead backwards, which excludes
 * loops.
 *
 * @throws MalformedMessage
 */
export function skipName(message: Buffer, start: number): number {
  let offset = start;
  let lowest = start;
  let end: number | undefined;
  let size = 0;
  let pointers = 0;
  for (;;) {
    const length = byteAt(message, offset);
    if (length >= POINTER) {
      const target = ((length & 0x3f) << 8) | byteAt(message, offset + 1);
      end ??= offset + 2;
      if (target >= lowest || ++pointers > MAX_POINTERS) throw new MalformedMessage("pointer does not lead backwards");
      offset = target;
      lowest = target;
      continue;
    }
    if (length > MAX_LABEL_BYTES) throw new MalformedMessage("unknown type of label");
    size += 1 + length;
    if (size > MAX_NAME_BYTES) throw new MalformedMessage("name is longer than 255 bytes");
    offset += 1 + length;
    if (offset > message.length) throw new MalformedMessage("name exceeds the message");
    if (length === 0) return end ?? offset;
  }
}

/** Encodes a name of ASCII letters, digits, `-`, `_` and `*`; `undefined` if it is not well formed. */
export function encodeName(name: string): Buffer | undefined {
  const labels = name.split(".");
  if (labels.some((label) => !/^[A-Za-z0-9_*-]{1,63}$/.test(label)) || name.length + 2 > MAX_NAME_BYTES)
    return undefined;
  return Buffer.concat([...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]), Buffer.of(0)]);
}

/** Runs a parser and returns `undefined` for a malformed message. */
export function ifWellFormed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw new Error(`DNS message: ${reasonOf(error)}`, { cause: error });
  }
}

function byteAt(message: Buffer, offset: number): number {
  const byte = message[offset];
  if (byte === undefined) throw new MalformedMessage("message ends within a name");
  return byte;
}

function labelText(label: Buffer): string {
  let text = "";
  for (const byte of label)
    text += isHostnameByte(byte) ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, "0")}`;
  return text;
}

function isHostnameByte(byte: number): boolean {
  const lower = byte | 0x20;
  return (
    (lower >= 0x61 && lower <= 0x7a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    byte === HYPHEN ||
    byte === UNDERSCORE ||
    byte === ASTERISK
  );
}
