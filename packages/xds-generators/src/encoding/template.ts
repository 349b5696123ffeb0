import { randomUUID } from "node:crypto";
import { readVarint, skipValue, varintEnd, wireTypes } from "@istiod/protobuf-wire";
import { BackwardWriter } from "./backward-writer.js";
import { copyToSlab } from "./slab.js";

/*
 * Messages that differ only in a few strings are encoded once, with placeholders, and filled in without encoding them
 * again. In protobuf's wire format a string affects only itself and the lengths of the enclosing messages, so a
 * template is a list of bytes, placeholders and enclosing fields.
 */

/** An encoded message with placeholders. */
export interface Template {
  readonly parts: readonly Part[];
}

/** Values by placeholder name: a string, or a list for a repeated placeholder. */
type PlaceholderValues = Readonly<Record<string, string | readonly string[]>>;

type Part = Uint8Array | Placeholder | Nested;

interface Placeholder {
  readonly placeholder: string;
}

/** A string or message field, whose length depends on the values. */
interface Nested {
  readonly tag: Uint8Array;
  readonly parts: readonly Part[];
  /** The repeated placeholder in this message, which is written once for each value. */
  readonly each?: string;
}

/**
 * Returns the placeholder for a value at the beginning of a string. Its first byte is not a valid tag, so no encoded
 * message starts with it.
 */
export function placeholder(name: string): string {
  return `${placeholderStart}${name}${placeholderEnd}`;
}

/** Returns the placeholder for a list of values: the innermost enclosing message is repeated for each. */
export function repeatedPlaceholder(name: string): string {
  return placeholder(repeatMark + name);
}

/** Compiles an encoded message that contains placeholders. */
export function compileTemplate(encoded: Uint8Array): Template {
  return { parts: compileMessage(Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)) };
}

/** Fills in a template. Values without a placeholder are ignored. @throws TypeError if a value is missing */
export function fillTemplate({ parts }: Template, values: PlaceholderValues): Uint8Array {
  writer.clear();
  writeParts(parts, values, "");
  return writer.finish();
}

/** Random per process and absent from all output, so that no user-supplied string is mistaken for a placeholder. */
const placeholderStart = `\u0001placeholder:${randomUUID()}:`;
const placeholderEnd = "\u0002";
const repeatMark = "*";

const writer = new BackwardWriter();

function compileMessage(message: Buffer): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (let at = 0; at < message.length;) {
    const tag = readVarint(message, at, message.length);
    const value = varintEnd;
    const end = skipValue(message, tag % 8, value);
    if (tag % 8 === wireTypes.delimited) {
      const length = readVarint(message, value, end);
      const content = message.subarray(end - length, end);
      if (content.includes(placeholderStart)) {
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
  if (content.indexOf(placeholderStart) === 0) return { tag, parts: compileString(content) };
  const parts = compileMessage(content);
  const each = parts.map(repeatedPlaceholderOf).find((name) => name !== undefined);
  return each === undefined ? { tag, parts } : { tag, parts, each };
}

function compileString(content: Buffer): Part[] {
  const end = content.indexOf(placeholderEnd);
  if (end < 0) return [copyToSlab(content)];
  const rest = content.subarray(end + placeholderEnd.length);
  return [
    { placeholder: content.toString("utf8", placeholderStart.length, end) },
    ...(rest.length === 0 ? [] : [copyToSlab(rest)]),
  ];
}

/** Returns the name of the repeated placeholder at the beginning of a field. */
function repeatedPlaceholderOf(part: Part): string | undefined {
  const [first] = "parts" in part ? part.parts : [];
  return first !== undefined && "placeholder" in first && first.placeholder.startsWith(repeatMark)
    ? first.placeholder.slice(repeatMark.length)
    : undefined;
}

/** Writes parts, last one first. `current` is the value of the enclosing repeated message. */
function writeParts(parts: readonly Part[], values: PlaceholderValues, current: string): void {
  for (let i = parts.length - 1; i >= 0; i--) {
    const part = parts[i] as Part;
    if (part instanceof Uint8Array) writer.bytes(part);
    else if ("placeholder" in part)
      writer.string(part.placeholder.startsWith(repeatMark) ? current : valueFor(part.placeholder, values));
    else if (part.each === undefined) writeNested(part, values, current);
    else for (const text of valuesFor(part.each, values).toReversed()) writeNested(part, values, text);
  }
}

function writeNested({ tag, parts }: Nested, values: PlaceholderValues, current: string): void {
  const { length } = writer;
  writeParts(parts, values, current);
  writer.varint(writer.length - length);
  writer.bytes(tag);
}

function valueFor(name: string, values: PlaceholderValues): string {
  const value = values[name];
  if (typeof value !== "string") throw new TypeError(`${name}: a text is expected`);
  return value;
}

function valuesFor(name: string, values: PlaceholderValues): readonly string[] {
  const list = values[name];
  if (typeof list !== "object") throw new TypeError(`${name}: texts are expected`);
  return list;
}
