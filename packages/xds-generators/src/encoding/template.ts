import { randomUUID } from "node:crypto";
import { BackwardWriter } from "./backward-writer.js";
import { copyToSlab } from "./slab.js";
import { readVarint, skipField, wireTypes } from "./wire-format.js";

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
type PlaceholderValues = Readonly<Record<string, string | readonly string[]>>;

type Part = Uint8Array | Placeholder | Nested;

interface Placeholder {
  readonly placeholder: string;
}

/** A text or message in a field: its length depends on what is filled in. */
interface Nested {
  readonly tag: Uint8Array;
  readonly parts: readonly Part[];
  /** The blank for whose every text this stands once. */
  readonly each?: string;
}

/** Stands at the beginning of a text for one that is filled in later. No message begins with its first byte, which is no field's tag. */
export function placeholder(name: string): string {
  return `${opening}${name}${closing}`;
}

/** Stands for any number of texts: the innermost message that holds it is repeated. */
export function repeatedPlaceholder(name: string): string {
  return placeholder(every + name);
}

/** The template of an encoded message in whose texts blanks stand. */
export function compileTemplate(encoded: Uint8Array): Template {
  return { parts: compileMessage(Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)) };
}

/** The message with its blanks filled in. Texts for blanks that the template does not have are left alone; it throws where one is missing. */
export function fillTemplate({ parts }: Template, blanks: PlaceholderValues): Uint8Array {
  writer.clear();
  writeParts(parts, blanks, "");
  return writer.finish();
}

/** Of this process alone and in no output, so that nobody's own text can be taken for a blank. */
const opening = `\u0001placeholder:${randomUUID()}:`;
const closing = "\u0002";
const every = "*";

const writer = new BackwardWriter();

function compileMessage(message: Buffer): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (let at = 0; at < message.length;) {
    const [tag, value] = readVarint(message, at);
    const end = skipField(message, tag % 8, value);
    if (tag % 8 === wireTypes.lengthDelimited) {
      const content = message.subarray(readVarint(message, value)[1], end);
      if (content.includes(opening)) {
        if (from < at) parts.push(copyToSlab(message.subarray(from, at)));
        parts.push(compileField(copyToSlab(message.subarray(at, value)), content));
        from = end;
      }
    }
    at = end;
  }
  if (from < message.length) parts.push(copyToSlab(message.subarray(from)));
  return parts;
}

function compileField(tag: Uint8Array, content: Buffer): Nested {
  if (content.indexOf(opening) === 0) return { tag, parts: compileString(content) };
  const parts = compileMessage(content);
  const each = parts.map(repeatedPlaceholderOf).find((name) => name !== undefined);
  return each === undefined ? { tag, parts } : { tag, parts, each };
}

function compileString(text: Buffer): Part[] {
  const end = text.indexOf(closing);
  if (end < 0) return [copyToSlab(text)];
  const rest = text.subarray(end + closing.length);
  return [
    { placeholder: text.toString("utf8", opening.length, end) },
    ...(rest.length === 0 ? [] : [copyToSlab(rest)]),
  ];
}

/** The name of the blank for texts that a field begins with. */
function repeatedPlaceholderOf(part: Part): string | undefined {
  const [first] = "parts" in part ? part.parts : [];
  return first !== undefined && "placeholder" in first && first.placeholder.startsWith(every)
    ? first.placeholder.slice(every.length)
    : undefined;
}

/** Parts, the last one first; `current` is the text of the message that stands for each of some. */
function writeParts(parts: readonly Part[], blanks: PlaceholderValues, current: string): void {
  for (let i = parts.length - 1; i >= 0; i--) {
    const part = parts[i] as Part;
    if (part instanceof Uint8Array) writer.bytes(part);
    else if ("placeholder" in part)
      writer.string(part.placeholder.startsWith(every) ? current : valueFor(part.placeholder, blanks));
    else if (part.each === undefined) writeNested(part, blanks, current);
    else for (const text of valuesFor(part.each, blanks).toReversed()) writeNested(part, blanks, text);
  }
}

function writeNested({ tag, parts }: Nested, blanks: PlaceholderValues, current: string): void {
  const { length } = writer;
  writeParts(parts, blanks, current);
  writer.varint(writer.length - length);
  writer.bytes(tag);
}

function valueFor(name: string, blanks: PlaceholderValues): string {
  const text = blanks[name];
  if (typeof text !== "string") throw new TypeError(`${name}: a text is expected`);
  return text;
}

function valuesFor(name: string, blanks: PlaceholderValues): readonly string[] {
  const texts = blanks[name];
  if (typeof texts !== "object") throw new TypeError(`${name}: texts are expected`);
  return texts;
}
