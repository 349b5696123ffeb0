import { randomUUID } from "node:crypto";
import { BackwardWriter } from "./backward-writer.js";
import { copyOf, readNumber, skipValue, wireTypes } from "./encode.js";

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

/** A text or message in a field: its length depends on what is filled in. */
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

/** Stands for any number of texts: the innermost message that holds it is repeated. */
export function blankEach(name: string): string {
  return blank(every + name);
}

/** The template of an encoded message in whose texts blanks stand. */
export function template(encoded: Uint8Array): Template {
  return { parts: partsOf(Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)) };
}

/** The message with its blanks filled in. Texts for blanks that the template does not have are left alone; it throws where one is missing. */
export function filled({ parts }: Template, blanks: Blanks): Uint8Array {
  writer.clear();
  writeParts(parts, blanks, "");
  return writer.finish();
}

/** Of this process alone and in no output, so that nobody's own text can be taken for a blank. */
const opening = `\u0001blank:${randomUUID()}:`;
const closing = "\u0002";
const every = "*";

const writer = new BackwardWriter();

function partsOf(message: Buffer): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (let at = 0; at < message.length;) {
    const [tag, value] = readNumber(message, at);
    const end = skipValue(message, tag % 8, value);
    if (tag % 8 === wireTypes.delimited) {
      const content = message.subarray(readNumber(message, value)[1], end);
      if (content.includes(opening)) {
        if (from < at) parts.push(copyOf(message.subarray(from, at)));
        parts.push(nested(copyOf(message.subarray(at, value)), content));
        from = end;
      }
    }
    at = end;
  }
  if (from < message.length) parts.push(copyOf(message.subarray(from)));
  return parts;
}

function nested(tag: Uint8Array, content: Buffer): Nested {
  if (content.indexOf(opening) === 0) return { tag, parts: textParts(content) };
  const parts = partsOf(content);
  const each = parts.map(repeatedBy).find((name) => name !== undefined);
  return each === undefined ? { tag, parts } : { tag, parts, each };
}

function textParts(text: Buffer): Part[] {
  const end = text.indexOf(closing);
  if (end < 0) return [copyOf(text)];
  const rest = text.subarray(end + closing.length);
  return [{ blank: text.toString("utf8", opening.length, end) }, ...(rest.length === 0 ? [] : [copyOf(rest)])];
}

/** The name of the blank for texts that a field begins with. */
function repeatedBy(part: Part): string | undefined {
  const [first] = "parts" in part ? part.parts : [];
  return first !== undefined && "blank" in first && first.blank.startsWith(every)
    ? first.blank.slice(every.length)
    : undefined;
}

/** Parts, the last one first; `current` is the text of the message that stands for each of some. */
function writeParts(parts: readonly Part[], blanks: Blanks, current: string): void {
  for (let i = parts.length - 1; i >= 0; i--) {
    const part = parts[i] as Part;
    if (part instanceof Uint8Array) writer.bytes(part);
    else if ("blank" in part) writer.text(part.blank.startsWith(every) ? current : textFor(part.blank, blanks));
    else if (part.each === undefined) writeNested(part, blanks, current);
    else for (const text of textsFor(part.each, blanks).toReversed()) writeNested(part, blanks, text);
  }
}

function writeNested({ tag, parts }: Nested, blanks: Blanks, current: string): void {
  const { length } = writer;
  writeParts(parts, blanks, current);
  writer.number(writer.length - length);
  writer.bytes(tag);
}

function textFor(name: string, blanks: Blanks): string {
  const text = blanks[name];
  if (typeof text !== "string") throw new TypeError(`${name}: a text is expected`);
  return text;
}

function textsFor(name: string, blanks: Blanks): readonly string[] {
  const texts = blanks[name];
  if (typeof texts !== "object") throw new TypeError(`${name}: texts are expected`);
  return texts;
}
