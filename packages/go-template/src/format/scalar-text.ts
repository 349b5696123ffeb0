import { checkLength } from "../budget.js";
import { quote, quoteCharacter } from "../values/quote.js";
import { isPrintable } from "../values/strings.js";
import { type Directive, pad } from "./directive.js";
import { type FloatFormat, formatFloat } from "./float-text.js";

/** Returns the text of a boolean; undefined if the verb does not apply to it. */
export function boolText(value: boolean, directive: Directive): string | undefined {
  return directive.verb === "t" || directive.verb === "v" ? pad(String(value), directive) : undefined;
}

/** Returns the text of a string; undefined if the verb does not apply to it. */
export function stringText(value: string, directive: Directive): string | undefined {
  switch (directive.verb) {
    case "v":
      return directive.sharpV ? quotedText(value, directive) : pad(truncate(value, directive), directive);
    case "s":
      return pad(truncate(value, directive), directive);
    case "q":
      return quotedText(value, directive);
    case "x":
    case "X":
      return hexText(Buffer.from(value), directive);
    default:
      return undefined;
  }
}

function truncate(value: string, { precision }: Directive): string {
  return precision === undefined || value.length <= precision ? value : [...value].slice(0, precision).join("");
}

function quotedText(value: string, directive: Directive): string {
  const text = truncate(value, directive);
  const canBackquote = !/[\0-\x08\n-\x1f`\x7f\ufeff]/.test(text);
  if (directive.sharp && canBackquote) return pad(`\`${text}\``, directive);
  return pad(quote(text, { asciiOnly: directive.plus }), directive);
}

/** Bytes in hexadecimal digits. */
export function hexText(bytes: Buffer, directive: Directive): string {
  const part = directive.precision === undefined ? bytes : bytes.subarray(0, directive.precision);
  const upper = directive.verb === "X";
  const digits = part.toString("hex");
  const cased = upper ? digits.toUpperCase() : digits;
  if (cased === "") return pad("", directive);
  const prefix = directive.sharp ? (upper ? "0X" : "0x") : "";
  if (!directive.space) return pad(prefix + cased, directive);
  return pad((cased.match(/../g) ?? []).map((byte) => prefix + byte).join(" "), directive);
}

/** Returns the text of an integer; undefined if the verb does not apply to it. */
export function integerText(value: bigint, isSigned: boolean, directive: Directive): string | undefined {
  const { verb } = directive;
  switch (verb) {
    case "v":
      return directive.sharpV && !isSigned
        ? inBase(value, 16, { ...directive, sharp: true })
        : inBase(value, 10, directive);
    case "d":
      return inBase(value, 10, directive);
    case "b":
      return inBase(value, 2, directive);
    case "o":
    case "O":
      return inBase(value, 8, directive);
    case "x":
    case "X":
      return inBase(value, 16, directive);
    case "c":
      return pad(characterOf(value), directive);
    case "q":
      return pad(quoteCharacter(characterOf(value), { asciiOnly: directive.plus }), directive);
    case "U":
      return unicodeText(value, directive);
    default:
      return undefined;
  }
}

const characterOf = (value: bigint): string =>
  value >= 0n && value <= 0x10ffffn && (value < 0xd800n || value > 0xdfffn)
    ? String.fromCodePoint(Number(value))
    : "\ufffd";

function unicodeText(value: bigint, directive: Directive): string {
  const unsigned = BigInt.asUintN(64, value);
  const digits = unsigned.toString(16).toUpperCase();
  const number = `U+${digits.padStart(Math.max(4, directive.precision ?? 0), "0")}`;
  const character = characterOf(value);
  const isShown = directive.sharp && unsigned <= 0x10ffffn && isPrintable(character);
  return pad(isShown ? `${number} '${character}'` : number, { ...directive, zero: false });
}

function inBase(value: bigint, base: 2 | 8 | 10 | 16, directive: Directive): string {
  const isNegative = value < 0n;
  const { width, precision, zero, minus, plus, space } = directive;
  const sign = isNegative ? "-" : plus ? "+" : space ? " " : "";
  if (precision === 0 && value === 0n) return pad("", { ...directive, zero: false });
  const minimum = precision ?? (zero && !minus && width !== undefined ? width - sign.length : 0);
  checkLength(minimum);
  let digits = (isNegative ? -value : value).toString(base).padStart(minimum, "0");
  if (directive.verb === "X") digits = digits.toUpperCase();
  return pad(sign + basePrefix(base, digits, directive) + digits, { ...directive, zero: false });
}

function basePrefix(base: number, digits: string, { verb, sharp }: Directive): string {
  if (verb === "O") return sharp && !digits.startsWith("0") ? "0o0" : "0o";
  if (!sharp) return "";
  if (base === 2) return "0b";
  if (base === 8) return digits.startsWith("0") ? "" : "0";
  return base === 16 ? (verb === "X" ? "0X" : "0x") : "";
}

const floatFormats: Readonly<Record<string, readonly [FloatFormat, number]>> = {
  v: ["g", -1],
  g: ["g", -1],
  G: ["g", -1],
  e: ["e", 6],
  E: ["e", 6],
  f: ["f", 6],
  F: ["f", 6],
  b: ["b", -1],
  x: ["x", -1],
  X: ["x", -1],
};

/** Returns the text of a float; undefined if the verb does not apply to it. */
export function floatText(value: number, directive: Directive): string | undefined {
  const format = floatFormats[directive.verb];
  if (format === undefined) return undefined;
  const precision = directive.precision ?? format[1];
  checkLength(precision);
  const unsigned = formatFloat(value, format[0], precision).replace(/^\+/, "");
  const text = "EGX".includes(directive.verb) && Number.isFinite(value) ? unsigned.toUpperCase() : unsigned;
  const isNegative = text.startsWith("-");
  const magnitude = isNegative ? text.slice(1) : text;
  const digits =
    directive.sharp && Number.isFinite(value) ? withPoint(magnitude, precision, directive.verb) : magnitude;
  const sign = isNegative ? "-" : directive.plus ? "+" : directive.space ? " " : value === Infinity ? "+" : "";
  const { width, zero, minus } = directive;
  if (!Number.isFinite(value) || !zero || minus || width === undefined)
    return pad(sign + digits, { ...directive, zero: false });
  checkLength(width);
  return sign + digits.padStart(width - sign.length, "0");
}

/** Returns the digits of a float with a decimal point, and for `%#g` with the zeros that it otherwise drops. */
function withPoint(text: string, precision: number, verb: string): string {
  if (verb === "b") return text;
  const isHexadecimal = verb === "x" || verb === "X";
  const end = text.search(isHexadecimal ? /p/i : /e/i);
  const number = end < 0 ? text : text.slice(0, end);
  const exponent = end < 0 ? "" : text.slice(end);
  const significant = number.replace(".", "").replace(/^0+/, "").length;
  const wanted = "vgGxX".includes(verb) ? (precision < 0 ? 6 : precision) : 0;
  const pointed = number.includes(".") ? number : `${number}.`;
  const missing = wanted - (number === "0" ? 1 : significant);
  return pointed + "0".repeat(Math.max(0, missing)) + exponent;
}
