import { spend } from "../budget.js";
import { anyMapType, anySliceType } from "../values/known-types.js";
import { quoteCharacter } from "../values/quote.js";
import { GoList, GoMap, type Value } from "../values/values.js";

const maxDepth = 10_000;

/**
 * Returns the value of a text in JSON, as Go's `encoding/json` reads it: numbers are `float64`.
 *
 * @throws Error with Go's message
 */
export function decodeJson(text: string): Value {
  return new Decoder(text).document();
}

class Decoder {
  readonly #text: string;
  #position = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Value {
    const value = this.#value("looking for beginning of value");
    this.#skipSpaces();
    if (this.#position < this.#text.length) throw this.#unexpected("after top-level value");
    return value;
  }

  #value(context: string): Value {
    spend(1);
    this.#skipSpaces();
    const character = this.#text.charAt(this.#position);
    switch (character) {
      case "{":
        return this.#nested(() => this.#object());
      case "[":
        return this.#nested(() => this.#array());
      case '"':
        return this.#string();
      case "t":
        return this.#literal("true", true);
      case "f":
        return this.#literal("false", false);
      case "n":
        return this.#literal("null", null);
      default:
        if (!/^[-0-9]$/.test(character)) throw this.#unexpected(context);
        return this.#number();
    }
  }

  #nested(read: () => Value): Value {
    if (++this.#depth > maxDepth) throw new Error("exceeded max depth");
    this.#position++;
    const value = read();
    this.#depth--;
    return value;
  }

  #object(): Value {
    const entries = new Map<string, Value>();
    this.#skipSpaces();
    if (this.#accept("}")) return new GoMap(anyMapType, entries);
    for (;;) {
      this.#skipSpaces();
      if (this.#text.charAt(this.#position) !== '"')
        throw this.#unexpected("looking for beginning of object key string");
      const key = this.#string();
      this.#skipSpaces();
      if (!this.#accept(":")) throw this.#unexpected("after object key");
      entries.set(key, this.#value("looking for beginning of value"));
      this.#skipSpaces();
      if (this.#accept("}")) return new GoMap(anyMapType, entries);
      if (!this.#accept(",")) throw this.#unexpected("after object key:value pair");
    }
  }

  #array(): Value {
    const items: Value[] = [];
    this.#skipSpaces();
    if (this.#accept("]")) return new GoList(anySliceType, items);
    for (;;) {
      items.push(this.#value("looking for beginning of value"));
      this.#skipSpaces();
      if (this.#accept("]")) return new GoList(anySliceType, items);
      if (!this.#accept(",")) throw this.#unexpected("after array element");
    }
  }

  #string(): string {
    const start = this.#position;
    for (this.#position++; ; this.#position++) {
      const character = this.#text.charAt(this.#position);
      if (character === '"') break;
      if (character === "" || character < " ") throw this.#unexpected("in string literal");
      if (character === "\\") this.#escape();
    }
    this.#position++;
    return Buffer.from(JSON.parse(this.#text.slice(start, this.#position)) as string).toString();
  }

  #escape(): void {
    this.#position++;
    const character = this.#text.charAt(this.#position);
    if (character !== "u") {
      if (character === "" || !'"\\/bfnrt'.includes(character)) throw this.#unexpected("in string escape code");
      return;
    }
    for (let i = 0; i < 4; i++) {
      this.#position++;
      if (!/^[0-9a-fA-F]$/.test(this.#text.charAt(this.#position)))
        throw this.#unexpected("in \\u hexadecimal character escape");
    }
  }

  #literal<T extends Value>(word: string, value: T): T {
    for (let i = 1; i < word.length; i++) {
      this.#position++;
      if (this.#text.charAt(this.#position) !== word.charAt(i))
        throw this.#unexpected(`in literal ${word} (expecting ${quoteCharacter(word.charAt(i))})`);
    }
    this.#position++;
    return value;
  }

  #number(): number {
    const start = this.#position;
    this.#accept("-");
    if (!this.#accept("0")) this.#digits("in numeric literal");
    if (this.#accept(".")) this.#digits("after decimal point in numeric literal");
    if (this.#accept("e") || this.#accept("E")) {
      if (!this.#accept("+")) this.#accept("-");
      this.#digits("in exponent of numeric literal");
    }
    const literal = this.#text.slice(start, this.#position);
    const value = Number(literal);
    if (Number.isFinite(value)) return value;
    throw new Error(`json: cannot unmarshal number ${literal} into Go value of type float64`);
  }

  #digits(context: string): void {
    if (!/^[0-9]$/.test(this.#text.charAt(this.#position))) throw this.#unexpected(context);
    while (/^[0-9]$/.test(this.#text.charAt(this.#position))) this.#position++;
  }

  #accept(character: string): boolean {
    if (this.#text.charAt(this.#position) !== character) return false;
    this.#position++;
    return true;
  }

  #skipSpaces(): void {
    while (/^[ \t\r\n]$/.test(this.#text.charAt(this.#position))) this.#position++;
  }

  #unexpected(context: string): Error {
    const code = this.#text.codePointAt(this.#position);
    if (code === undefined) {
      // Go reads a space after the end, which is an error within these parts.
      const isWithin = /^(?:in (?!string literal)|after decimal)/.test(context);
      return new Error(isWithin ? `invalid character ' ' ${context}` : "unexpected end of JSON input");
    }
    // Go reads bytes.
    const byte = Buffer.from(String.fromCodePoint(code))[0] ?? 0;
    const character = String.fromCharCode(byte);
    const quoted = character === '"' ? `'"'` : quoteCharacter(character);
    return new Error(`invalid character ${quoted} ${context}`);
  }
}
