import { isPlainYaml, parsePlainYaml } from "./plain-yaml.js";
import type { DocumentText } from "./yaml.js";

/** A part of a List, as a document of its own. */
export interface ListSlice {
  readonly document: DocumentText;
  /** Index in the List of the first item of the slice. */
  readonly first: number;
  /** Number of items. */
  readonly items: number;
}

/** Length of a slice in characters, from which the next item begins another one. */
const defaultLength = 32 * 1024;

/**
 * Splits a List in block style into documents with some of its items each, so that other work can run while a large one
 * is parsed. Returns undefined for other documents, for Lists that are short, and for those with anchors or tags.
 *
 * Items are found by their indentation. That is wrong where a quoted string continues at the left margin; such a slice
 * is malformed, and then the document must be read as a whole.
 */
export function listSlices(document: DocumentText, length = defaultLength): readonly ListSlice[] | undefined {
  const { text } = document;
  if (text.length <= length || !isPlainYaml(text) || /\r(?!\n)|^\.\.\.(?:\s|$)/m.test(text)) return undefined;
  const found = findItems(text);
  if (found === undefined) return undefined;
  const { from, to, starts } = found;
  const prefix = prefixOf(`${text.slice(0, from)}items: []\n${text.slice(to)}`);
  if (prefix === undefined) return undefined;
  const slices: ListSlice[] = [];
  for (let first = 0; first < starts.length;) {
    const begin = starts[first] ?? { at: to, line: 0 };
    let next = first + 1;
    while ((starts[next]?.at ?? to) - begin.at < length && next < starts.length) next++;
    const items = text.slice(begin.at, starts[next]?.at ?? to);
    slices.push({
      first,
      items: next - first,
      document: { text: prefix + items, line: document.line + begin.line - prefixLines },
    });
    first = next;
  }
  return slices;
}

const prefixLines = 3;

/** Returns the lines before the items of each slice, by the document without its items. */
function prefixOf(head: string): string | undefined {
  const { value } = parsePlainYaml(head) ?? {};
  if (typeof value !== "object" || value === null) return undefined;
  const { apiVersion, kind, items } = value as Readonly<Record<string, unknown>>;
  if (typeof kind !== "string" || !kind.endsWith("List") || !Array.isArray(items)) return undefined;
  return `apiVersion: ${JSON.stringify(apiVersion ?? null)}\nkind: ${JSON.stringify(kind)}\nitems:\n`;
}

interface Items {
  /** Offset of the line of the key. */
  readonly from: number;
  /** Offset after the last item. */
  readonly to: number;
  /** Offset and line, from 0, of each item. */
  readonly starts: readonly { readonly at: number; readonly line: number }[];
}

const itemsKey = /^items:[^\S\r\n]*(?:#.*)?$/;

function findItems(text: string): Items | undefined {
  let from: number | undefined;
  let indent: number | undefined;
  const starts: { readonly at: number; readonly line: number }[] = [];
  for (const { at, line, content } of linesOf(text)) {
    if (from === undefined) {
      if (itemsKey.test(content)) from = at;
      continue;
    }
    const margin = content.search(/\S/);
    if (margin < 0 || content[margin] === "#") continue;
    const isItem = /^-(?:\s|$)/.test(content.slice(margin, margin + 2));
    if (isItem && margin === (indent ??= margin)) starts.push({ at, line });
    else if (margin === 0) return indent === undefined ? undefined : { from, to: at, starts };
    else if (indent === undefined || margin <= indent) return undefined;
  }
  return from === undefined || indent === undefined ? undefined : { from, to: text.length, starts };
}

function* linesOf(text: string): Generator<{ readonly at: number; readonly line: number; readonly content: string }> {
  for (let at = 0, line = 0; at < text.length; line++) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    yield { at, line, content: text.slice(at, text[end - 1] === "\r" ? end - 1 : end) };
    at = end + 1;
  }
}
