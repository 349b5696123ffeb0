/** Returns the length of a string in bytes of UTF-8, which is Go's length. */
export function byteLength(text: string): number {
  return isAscii(text) ? text.length : Buffer.byteLength(text);
}

/** Returns the part of a string between two byte offsets. Bytes of a divided character become U+FFFD. */
export function byteSlice(text: string, start: number, end: number): string {
  return isAscii(text) ? text.slice(start, end) : Buffer.from(text).subarray(start, end).toString();
}

/** Compares strings by their bytes: negative, 0 or positive. */
export function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const bothSurrogatesOrNeither = isSurrogate(x) === isSurrogate(y);
    return bothSurrogatesOrNeither ? x - y : isSurrogate(x) ? 0x10000 - y : x - 0x10000;
  }
  return a.length - b.length;
}

/** Go's `unicode.IsSpace`. */
export const isUnicodeSpace = (character: string): boolean =>
  /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/.test(character);

const spaces = "[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const leadingSpaces = new RegExp(`^${spaces}`);

/** Go's `strings.TrimSpace`. */
export function trimSpace(text: string): string {
  let end = text.length;
  while (end > 0 && isUnicodeSpace(text.charAt(end - 1))) end--;
  return text.slice(0, end).replace(leadingSpaces, "");
}

/** Go's `unicode.IsPrint`. */
export const isPrintable = (character: string): boolean =>
  character === " " || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);

/** Upper case of each character on its own, as Go's `strings.ToUpper`. */
export const toUpper = (text: string): string =>
  isAscii(text)
    ? text.toUpperCase()
    : mapCharacters(text, (character) => simpleCase(character, character.toUpperCase()));

/** Lower case of each character on its own, as Go's `strings.ToLower`. */
export const toLower = (text: string): string =>
  isAscii(text)
    ? text.toLowerCase()
    : mapCharacters(text, (character) => (character === "İ" ? "i" : simpleCase(character, character.toLowerCase())));

const mapCharacters = (text: string, map: (character: string) => string): string => Array.from(text, map).join("");

function simpleCase(character: string, converted: string): string {
  return [...converted].length === 1 ? converted : character;
}

const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;

const isAscii = (text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
};
