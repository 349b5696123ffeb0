import { copyOf, readNumber, sizeOf, writeNumber } from "./encode.js";

/*
 * Messages that differ in a few texts only are encoded once, with blanks for these texts, and filled in without being encoded again. In the
 * binary form of protobuf a text changes nothing but itself and the lengths of the messages that it lies in: so a template is the bytes
 * between the blanks, and the messages around them.
 */

/** An encoded message with blanks. */
export interface Template {
  readonly parts: readonly Part[];
}

/** What is filled in, by the names of the blanks: a text, or texts where the message that holds the blank stands once for each of them. */
export type Blanks = Readonly<Record<string, string | readonly string[]>>;

type Part = Uint8Array | Blank | Nested;

interface Blank {
  readonly blank: string;
}

/** A text or message in a field: its tag is in the bytes before it, and its length depends on what is filled in. */
interface Nested {
  readonly tag: Uint8Array;
  readonly parts: readonly Part[];
  /** The blank for whose every text this stands once. */
  readonly each?: string;
}

/** Stands at the beginning of a text for one that is filled in later. No message begins with its first byte, which is no field's tag. */
export function blank(name: string): string {
  return `${opening}${name}${closing}`;
}

/** Stands for texts of which there may be any number: the innermost message that holds this is repeated. */
export function blankEach(name: string): string {
  return `${opening}${everyone}${name}${closing}`;
}

/** The template of an encoded message in whose texts blanks stand. */
export function template(encoded: Uint8Array): Template {
  return { parts: partsOf(Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)) };
}

/** The message with its blanks filled in; those of `blanks` that the template does not have are not needed. */
export function filled({ parts }: Template, blanks: Blanks): Uint8Array {
  for (;;) {
    const start = writeParts(parts, scratch.length, blanks, "");
    if (start >= 0) return copyOf(scratch.subarray(start));
    scratch = Buffer.allocUnsafeSlow(scratch.length * 2);
  }
}

const opening = "\u0001blank:";
const closing = "\u0002";
const everyone = "*";
const lengthDelimited = 2;

/** Written from its end, so that a length is known when it is due, and copied then. */
let scratch = Buffer.allocUnsafeSlow(4096);

function partsOf(message: Buffer): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (let at = 0; at < message.length; ) {
    const tagAt = at;
    const [tag, afterTag] = readNumber(message, at);
    at = afterValue(message, tag % 8, afterTag);
    if (tag % 8 !== lengthDelimited) continue;
    const [, start] = readNumber(message, afterTag);
    const content = message.subarray(start, at);
    if (!content.includes(opening)) continue;
    if (from < tagAt) parts.push(copyOf(message.subarray(from, tagAt)));
    parts.push(nested(copyOf(message.subarray(tagAt, afterTag)), content));
    from = at;
  }
  if (from < message.length) parts.push(copyOf(message.subarray(from)));
  return parts;
}

function nested(tag: Uint8Array, content: Buffer): Nested {
  const name = blankAt(content);
  if (name !== undefined) {
    const rest = content.subarray(Buffer.byteLength(blank(name)));
    return { tag, parts: [{ blank: name }, ...(rest.length > 0 ? [copyOf(rest)] : [])] };
  }
  const parts = partsOf(content);
  const each = parts.find((part) => isNested(part) && part.parts.some((inner) => "blank" in inner && inner.blank.startsWith(everyone)));
  if (each === undefined) return { tag, parts };
  const inner = (each as Nested).parts.find((part) => "blank" in part) as Blank;
  return { tag, parts, each: inner.blank.slice(everyone.length) };
}

function blankAt(content: Buffer): string | undefined {
  if (!content.subarray(0, opening.length).equals(Buffer.from(opening))) return undefined;
  const end = content.indexOf(closing);
  return end < 0 ? undefined : content.toString("utf8", opening.length, end);
}

function textOf(blanks: Blanks, name: string): string {
  const text = blanks[name];
  if (typeof text !== "string") throw new TypeError(`${name}: a text is expected`);
  return text;
}

function isNested(part: Part): part is Nested {
  return "tag" in part;
}

/** Where what was written begins: before the parts' `end`, or negative where there was no room. */
function writeParts(parts: readonly Part[], end: number, blanks: Blanks, current: string): number {
  let at = end;
  for (let i = parts.length - 1; i >= 0 && at >= 0; i--) {
    const part = parts[i] as Part;
    if (part instanceof Uint8Array) at = writeBytes(part, at);
    else if (isNested(part)) at = part.each === undefined ? writeNested(part, at, blanks, current) : writeEach(part, part.each, at, blanks);
    else at = writeText(part.blank.startsWith(everyone) ? current : textOf(blanks, part.blank), at);
  }
  return at;
}

function writeEach(part: Nested, name: string, end: number, blanks: Blanks): number {
  const texts = blanks[name];
  if (typeof texts !== "object") throw new TypeError(`${name}: texts are expected`);
  let at = end;
  for (let i = texts.length - 1; i >= 0 && at >= 0; i--) at = writeNested(part, at, blanks, texts[i] as string);
  return at;
}

function writeNested({ tag, parts }: Nested, end: number, blanks: Blanks, current: string): number {
  const start = writeParts(parts, end, blanks, current);
  return start < 0 ? start : writeBytes(tag, writeLength(end - start, start));
}

function writeText(text: string, end: number): number {
  const at = end - Buffer.byteLength(text);
  if (at >= 0) scratch.write(text, at);
  return at;
}

function writeBytes(bytes: Uint8Array, end: number): number {
  const at = end - bytes.length;
  if (at >= 0) scratch.set(bytes, at);
  return at;
}

function writeLength(length: number, end: number): number {
  const at = end - sizeOf(length);
  if (at >= 0) writeNumber(scratch, at, length);
  return at;
}

/** Where the value of a field ends. */
function afterValue(message: Uint8Array, wireType: number, at: number): number {
  switch (wireType) {
    case 0:
      return readNumber(message, at)[1];
    case 1:
      return at + 8;
    case lengthDelimited: {
      const [length, start] = readNumber(message, at);
      return start + length;
    }
    case 5:
      return at + 4;
    default:
      throw new RangeError(`wire type ${wireType} is not expected`);
  }
}
