import { type Functions, goFunction } from "../functions.js";
import { integerTypes, stringType } from "../values/known-types.js";
import { byteLength, byteSlice, isUnicodeSpace, toLower, toUpper } from "../values/strings.js";
import { checkLength } from "../budget.js";
import { camelToLower, toPascal } from "./camel-case.js";

const { int } = integerTypes;
const text = stringType;

/** Functions of words and their letters. */
export const wordFunctions: Functions = {
  title: goFunction([text], text, title),
  untitle: goFunction([text], text, untitle),
  nospace: goFunction([text], text, (value) => {
    const kept = latinCharacters(value).filter((character) => !isUnicodeSpace(character));
    return kept.length === byteLength(value) ? value : kept.join("");
  }),
  initials: goFunction([text], text, (value) => {
    const characters = latinCharacters(value);
    return characters
      .filter((character, i) => !isUnicodeSpace(character) && (i === 0 || isUnicodeSpace(characters[i - 1] ?? "")))
      .join("");
  }),
  swapcase: goFunction([text], text, swapCase),
  camelcase: goFunction([text], text, toPascal),
  snakecase: goFunction([text], text, (value) => camelToLower(value, "_")),
  kebabcase: goFunction([text], text, (value) => camelToLower(value, "-")),
  wrap: goFunction([int, text], text, (width, value) => wrap(value, Number(width), "", false)),
  wrapWith: goFunction([int, text, text], text, (width, newLine, value) => wrap(value, Number(width), newLine, true)),
};

/** Returns the bytes of a text as characters, because goutils reads bytes where it means characters. */
const latinCharacters = (value: string): readonly string[] => [...Buffer.from(value).toString("latin1")];

function title(value: string): string {
  let previous = " ";
  return Array.from(value, (character) => {
    const result = isSeparator(previous) ? toUpper(character) : character;
    previous = character;
    return result;
  }).join("");
}

const isSeparator = (character: string): boolean =>
  character < "\x80" ? !/^[A-Za-z0-9_]$/.test(character) : isUnicodeSpace(character);

function untitle(value: string): string {
  let isFirst = true;
  return Array.from(value, (character) => {
    if (isUnicodeSpace(character)) {
      isFirst = true;
      return character;
    }
    const result = isFirst ? toLower(character) : character;
    isFirst = false;
    return result;
  }).join("");
}

function swapCase(value: string): string {
  return Array.from(value, (character) => {
    if (/^[\p{Lu}\p{Lt}]$/u.test(character)) return toLower(character);
    return /^\p{Ll}$/u.test(character) ? toUpper(character) : character;
  }).join("");
}

/** Shortens a text to a width in bytes, with `...` in place of what is left out. */
export function abbreviate(value: string, left: number, width: number): string {
  const length = byteLength(value);
  if (length <= width) return value;
  let offset = Math.min(left, length);
  if (length - offset < width - 3) offset = length - (width - 3);
  if (offset <= 4) return `${byteSlice(value, 0, width - 3)}...`;
  if (width < 7) return "";
  if (offset + width - 3 < length) {
    const rest = byteSlice(value, offset, length);
    return `...${width - 3 < 4 ? "" : abbreviate(rest, 0, width - 3)}`;
  }
  return `...${byteSlice(value, length - (width - 3), length)}`;
}

/** Breaks a text into lines at spaces; widths count bytes. */
function wrap(value: string, width: number, newLine: string, breaksLongWords: boolean): string {
  const bytes = Buffer.from(value).toString("latin1");
  const separator = Buffer.from(newLine === "" ? "\n" : newLine).toString("latin1");
  const lineWidth = Math.max(width, 1);
  let output = "";
  let offset = 0;
  while (bytes.length - offset > lineWidth) {
    checkLength(output.length);
    if (bytes.charAt(offset) === " ") {
      offset++;
      continue;
    }
    const space = bytes.lastIndexOf(" ", offset + lineWidth);
    const next = bytes.indexOf(" ", offset + lineWidth);
    const end = space >= offset ? space : breaksLongWords ? offset + lineWidth : next;
    if (end < 0) return Buffer.from(output + bytes.slice(offset), "latin1").toString();
    output += bytes.slice(offset, end) + separator;
    offset = space >= offset || !breaksLongWords ? end + 1 : end;
  }
  return Buffer.from(output + bytes.slice(offset), "latin1").toString();
}
