import { isPrintable } from "./strings.js";

const escapes: ReadonlyMap<string, string> = new Map([
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
]);

/** Returns a quoted Go string, as `strconv.Quote` does. */
export function quote(text: string, options?: { readonly asciiOnly?: boolean }): string {
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`;
  return `"${Array.from(text, (character) => escape(character, '"', options?.asciiOnly === true)).join("")}"`;
}

/** Returns a quoted Go character, as `strconv.QuoteRune` does. */
export const quoteCharacter = (character: string, options?: { readonly asciiOnly?: boolean }): string =>
  `'${escape(character, "'", options?.asciiOnly === true)}'`;

function escape(character: string, delimiter: string, asciiOnly: boolean): string {
  const known = character === delimiter ? `\\${delimiter}` : escapes.get(character);
  if (known !== undefined) return known;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0xd800 && code <= 0xdfff) return asciiOnly ? "\\ufffd" : "\ufffd";
  if ((!asciiOnly || code < 0x80) && isPrintable(character)) return character;
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");

const simple: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

const escapeSequence = /\\(?:([abfnrtv\\"'])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y;

/**
 * Returns the text of a string in quotes or back quotes, as `strconv.Unquote` does.
 *
 * @throws Error `invalid syntax`
 */
export function unquote(literal: string): string {
  const body = literal.slice(1, -1);
  if (literal.startsWith("`")) return body.replaceAll("\r", "");
  if (!body.includes("\\")) return body;
  const parts: Buffer[] = [];
  let position = 0;
  while (position < body.length) {
    const next = body.indexOf("\\", position);
    const end = next === -1 ? body.length : next;
    parts.push(Buffer.from(body.slice(position, end)));
    position = end;
    if (next === -1) break;
    const { bytes, length } = unescape(body, position, '"');
    parts.push(bytes);
    position += length;
  }
  return Buffer.concat(parts).toString();
}

/**
 * Returns the code of a character constant in single quotes.
 *
 * @throws Error `invalid syntax`, or that the constant is malformed
 */
export function unquoteCharacter(literal: string): number {
  const body = literal.slice(1);
  const first = body.codePointAt(0);
  if (first === undefined || body.startsWith("'")) throw new Error("invalid syntax");
  const isEscape = body.startsWith("\\");
  const { code, length } = isEscape
    ? unescape(body, 0, "'")
    : { code: first, length: String.fromCodePoint(first).length };
  if (body.slice(length) !== "'") throw new Error(`malformed character constant: ${literal}`);
  return code;
}

function unescape(text: string, position: number, delimiter: string) {
  escapeSequence.lastIndex = position;
  const match = escapeSequence.exec(text);
  if (match === null) throw new Error("invalid syntax");
  const [whole, letter, byte, octal, short, long] = match;
  const length = whole.length;
  if (letter !== undefined) {
    if ((letter === '"' || letter === "'") && letter !== delimiter) throw new Error("invalid syntax");
    const character = simple[letter] ?? letter;
    return { bytes: Buffer.from(character), code: character.charCodeAt(0), length };
  }
  if (byte !== undefined || octal !== undefined) {
    const code = byte === undefined ? Number.parseInt(octal ?? "", 8) : Number.parseInt(byte, 16);
    if (code > 0xff) throw new Error("invalid syntax");
    return { bytes: Buffer.from([code]), code, length };
  }
  const code = Number.parseInt(short ?? long ?? "", 16);
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw new Error("invalid syntax");
  return { bytes: Buffer.from(String.fromCodePoint(code)), code, length };
}
