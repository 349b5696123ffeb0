import { checkLength } from "../budget.js";
import { type Functions, goFunction, variadicFunction } from "../functions.js";
import { defaultText } from "../format/value-text.js";
import { anyType, boolType, integerTypes, stringMapType, stringSliceType, stringType } from "../values/known-types.js";
import { quote } from "../values/quote.js";
import { byteLength, byteSlice, compareStrings, toLower, toUpper, trimSpace } from "../values/strings.js";
import { GoList, GoMap, type Value } from "../values/values.js";
import { toText, toTexts } from "./casts.js";
import { abbreviate } from "./words.js";

const { int } = integerTypes;
const strings = (items: readonly string[] | null): GoList => new GoList(stringSliceType, items);

/** Functions of strings. */
export const stringFunctions: Functions = {
  hello: goFunction([], stringType, () => "Hello!"),
  trim: goFunction([stringType], stringType, trimSpace),
  upper: goFunction([stringType], stringType, toUpper),
  lower: goFunction([stringType], stringType, toLower),
  trunc: goFunction([int, stringType], stringType, truncate),
  substr: goFunction([int, int, stringType], stringType, substring),
  repeat: goFunction([int, stringType], stringType, (count, text) => repeat(text, count)),
  trimall: goFunction([stringType, stringType], stringType, trimCharacters),
  trimAll: goFunction([stringType, stringType], stringType, trimCharacters),
  trimSuffix: goFunction([stringType, stringType], stringType, (suffix, text) =>
    suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
  ),
  trimPrefix: goFunction([stringType, stringType], stringType, (prefix, text) =>
    text.startsWith(prefix) ? text.slice(prefix.length) : text,
  ),
  contains: goFunction([stringType, stringType], boolType, (part, text) => text.includes(part)),
  hasPrefix: goFunction([stringType, stringType], boolType, (prefix, text) => text.startsWith(prefix)),
  hasSuffix: goFunction([stringType, stringType], boolType, (suffix, text) => text.endsWith(suffix)),
  quote: variadicFunction([], anyType, stringType, (values) =>
    present(values)
      .map((value) => quote(toText(value)))
      .join(" "),
  ),
  squote: variadicFunction([], anyType, stringType, (values) =>
    present(values)
      .map((value) => `'${defaultText(value)}'`)
      .join(" "),
  ),
  cat: variadicFunction([], anyType, stringType, (values) => present(values).map(defaultText).join(" ")),
  indent: goFunction([int, stringType], stringType, indent),
  nindent: goFunction([int, stringType], stringType, (spaces, text) => `\n${indent(spaces, text)}`),
  replace: goFunction([stringType, stringType, stringType], stringType, replace),
  plural: goFunction([stringType, stringType, int], stringType, (one, many, count) => (count === 1n ? one : many)),
  toString: goFunction([anyType], stringType, toText),
  toStrings: goFunction([anyType], stringSliceType, (value) => strings(toTexts(value))),
  join: goFunction([stringType, anyType], stringType, (separator, value) => {
    const texts = toTexts(value);
    checkLength(texts.length * separator.length);
    return texts.join(separator);
  }),
  sortAlpha: goFunction([anyType], stringSliceType, (value) =>
    strings(value instanceof GoList ? toTexts(value).toSorted(compareStrings) : [toText(value)]),
  ),
  split: goFunction([stringType, stringType], stringMapType, (separator, text) => numbered(split(text, separator, -1))),
  splitn: goFunction([stringType, int, stringType], stringMapType, (separator, count, text) =>
    numbered(split(text, separator, Number(count))),
  ),
  splitList: goFunction([stringType, stringType], stringSliceType, (separator, text) =>
    strings(split(text, separator, -1)),
  ),
  abbrev: goFunction([int, stringType], stringType, (width, text) =>
    width < 4n ? text : abbreviate(text, 0, Number(width)),
  ),
  abbrevboth: goFunction([int, int, stringType], stringType, (left, right, text) =>
    right < 4n || (left > 0n && right < 7n) ? text : abbreviate(text, Number(left), Number(right)),
  ),
};

const present = (values: readonly Value[]): readonly Value[] => values.filter((value) => value !== null);

/**
 * Returns a text repeated.
 *
 * @throws Error for a negative count
 */
export function repeat(text: string, count: bigint): string {
  if (count < 0n) throw new Error("strings: negative Repeat count");
  checkLength(text.length * Number(count));
  return text.repeat(text === "" ? 0 : Number(count));
}

function indent(spaces: bigint, text: string): string {
  const padding = repeat(" ", spaces);
  checkLength(padding.length * text.split("\n").length);
  return padding + text.replaceAll("\n", `\n${padding}`);
}

function truncate(count: bigint, text: string): string {
  const length = byteLength(text);
  const limit = Number(count);
  if (limit < 0) return length + limit > 0 ? byteSlice(text, length + limit, length) : text;
  return length > limit ? byteSlice(text, 0, limit) : text;
}

function substring(from: bigint, to: bigint, text: string): string {
  const [start, end, length] = [Number(from), Number(to), byteLength(text)];
  if (start < 0) {
    if (end < 0) throw outOfRange(`:${end}`);
    if (end > length) throw outOfRange(`:${end}`, length);
    return byteSlice(text, 0, end);
  }
  if (end < 0 || end > length) {
    if (start > length) throw outOfRange(`${start}:${length}`);
    return byteSlice(text, start, length);
  }
  if (start > end) throw outOfRange(`${start}:${end}`);
  return byteSlice(text, start, end);
}

const outOfRange = (bounds: string, length?: number): Error =>
  new Error(
    `runtime error: slice bounds out of range [${bounds}]${length === undefined ? "" : ` with length ${length}`}`,
  );

function trimCharacters(cutset: string, text: string): string {
  const cut = new Set(cutset);
  const characters = [...text];
  let start = 0;
  let end = characters.length;
  while (start < end && cut.has(characters[start] ?? "")) start++;
  while (end > start && cut.has(characters[end - 1] ?? "")) end--;
  return characters.slice(start, end).join("");
}

function replace(old: string, replacement: string, text: string): string {
  const parts = old === "" ? ["", ...text, ""] : text.split(old);
  checkLength(parts.length * replacement.length);
  return parts.join(replacement);
}

/** Go's `strings.SplitN`. */
function split(text: string, separator: string, count: number): readonly string[] {
  if (count === 0) return [];
  const parts = separator === "" ? [...text] : text.split(separator);
  if (count < 0 || parts.length <= count) return parts;
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

const numbered = (parts: readonly string[]): GoMap =>
  new GoMap(
    stringMapType,
    parts.map((part, i) => [`_${i}`, part] as const),
  );
