import { quote } from "../values/quote.js";
import {
  describeCharacter,
  hasLeftTrimMarker,
  hasRightTrimMarker,
  isAlphanumeric,
  isSpace,
  skipSpaces,
  trimmedEnd,
} from "./characters.js";
import { scanNumber } from "./scan-number.js";
import { keywords, type Token, type TokenKind } from "./tokens.js";

/** Delimiters of actions. */
export interface Delimiters {
  /** Default: `{{`. */
  readonly left?: string;
  /** Default: `}}`. */
  readonly right?: string;
}

/** Splits the source of a template into tokens. After an error, the only further tokens are `EOF`. */
export class Lexer {
  readonly #left: string;
  readonly #right: string;
  #input: string;
  #position = 0;
  #start = 0;
  #line = 1;
  #insideAction = false;
  #openParentheses = 0;
  /** Reports whether a word is a keyword: `break` and `continue` may be functions of the embedder. */
  readonly #isKeyword: (word: string) => boolean;

  constructor(input: string, { left, right }: Delimiters, isKeyword: (word: string) => boolean) {
    this.#input = input;
    this.#left = left === undefined || left === "" ? "{{" : left;
    this.#right = right === undefined || right === "" ? "}}" : right;
    this.#isKeyword = isKeyword;
  }

  /** Returns the next token. */
  next(): Token {
    return this.#insideAction ? this.#action() : this.#text();
  }

  #text(): Token {
    for (;;) {
      const open = this.#input.indexOf(this.#left, this.#position);
      if (open < 0) {
        this.#position = this.#input.length;
        return this.#position > this.#start ? this.#emit("text") : this.#emit("EOF");
      }
      if (open > this.#start) {
        const marked = hasLeftTrimMarker(this.#input, open + this.#left.length);
        this.#position = marked ? trimmedEnd(this.#input, this.#start, open) : open;
        const text = this.#position > this.#start ? this.#emit("text") : undefined;
        this.#position = open;
        this.#ignore();
        if (text !== undefined) return text;
      }
      const token = this.#leftDelimiter();
      if (token !== undefined) return token;
    }
  }

  /** Scans a left delimiter; undefined after a comment. */
  #leftDelimiter(): Token | undefined {
    this.#position += this.#left.length;
    const markerLength = hasLeftTrimMarker(this.#input, this.#position) ? 2 : 0;
    if (this.#input.startsWith("/*", this.#position + markerLength)) {
      this.#position += markerLength;
      this.#ignore();
      return this.#comment();
    }
    const token = this.#emit("left delimiter");
    this.#insideAction = true;
    this.#position += markerLength;
    this.#ignore();
    this.#openParentheses = 0;
    return token;
  }

  #comment(): Token | undefined {
    const end = this.#input.indexOf("*/", this.#position + 2);
    if (end < 0) return this.#error("unclosed comment");
    this.#position = end + 2;
    const right = this.#rightDelimiterLength();
    if (right === undefined) return this.#error("comment ends before closing delimiter");
    this.#position += right.length;
    if (right.trims) this.#position = skipSpaces(this.#input, this.#position);
    this.#ignore();
    return undefined;
  }

  #rightDelimiterLength(): { readonly length: number; readonly trims: boolean } | undefined {
    if (hasRightTrimMarker(this.#input, this.#position) && this.#input.startsWith(this.#right, this.#position + 2))
      return { length: this.#right.length + 2, trims: true };
    return this.#input.startsWith(this.#right, this.#position)
      ? { length: this.#right.length, trims: false }
      : undefined;
  }

  #rightDelimiter(): Token {
    const { length, trims } = this.#rightDelimiterLength() ?? { length: 0, trims: false };
    if (trims) {
      this.#position += 2;
      this.#ignore();
    }
    this.#position += trims ? length - 2 : length;
    const token = this.#emit("right delimiter");
    if (trims) {
      this.#position = skipSpaces(this.#input, this.#position);
      this.#ignore();
    }
    this.#insideAction = false;
    return token;
  }

  #action(): Token {
    if (this.#rightDelimiterLength() !== undefined)
      return this.#openParentheses === 0 ? this.#rightDelimiter() : this.#error("unclosed left paren");
    const character = this.#peek();
    if (character === "") return this.#error("unclosed action");
    if (isSpace(character)) return this.#space();
    if (/^[0-9+-]$/.test(character)) return this.#number();
    if (character === "." && /^[0-9]$/.test(this.#input.charAt(this.#position + 1))) return this.#number();
    if (isAlphanumeric(character)) return this.#identifier();
    this.#position += character.length;
    switch (character) {
      case "=":
      case "|":
        return this.#emit(character);
      case ":":
        if (this.#peek() !== "=") {
          this.#position += this.#peek().length;
          return this.#error("expected :=");
        }
        this.#position++;
        return this.#emit(":=");
      case '"':
        return this.#quoted('"', "string", "unterminated quoted string");
      case "'":
        return this.#quoted("'", "character constant", "unterminated character constant");
      case "`":
        return this.#rawString();
      case "$":
        return this.#fieldOrVariable("variable");
      case ".":
        return this.#fieldOrVariable("field");
      case "(":
        this.#openParentheses++;
        return this.#emit("(");
      case ")":
        this.#openParentheses--;
        return this.#openParentheses < 0 ? this.#error("unexpected right paren") : this.#emit(")");
      default:
        return /^[ -~]$/.test(character)
          ? this.#emit("char")
          : this.#error(`unrecognized character in action: ${describeCharacter(character)}`);
    }
  }

  #space(): Token {
    while (isSpace(this.#peek())) this.#position++;
    const spaces = this.#position - this.#start;
    const last = this.#position - 1;
    if (hasRightTrimMarker(this.#input, last) && this.#input.startsWith(this.#right, last + 2)) {
      this.#position = last;
      if (spaces === 1) return this.#rightDelimiter();
    }
    return this.#emit("space");
  }

  #identifier(): Token {
    this.#skipAlphanumerics();
    const word = this.#input.slice(this.#start, this.#position);
    if (!this.#isAtTerminator()) return this.#badCharacter();
    if (word === "true" || word === "false") return this.#emit("bool");
    const keyword = keywords.get(word);
    return this.#emit(keyword !== undefined && this.#isKeyword(word) ? keyword : "identifier");
  }

  #fieldOrVariable(kind: "field" | "variable"): Token {
    if (this.#isAtTerminator()) return this.#emit(kind === "variable" ? "variable" : "dot");
    this.#skipAlphanumerics();
    return this.#isAtTerminator() ? this.#emit(kind) : this.#badCharacter();
  }

  #badCharacter(): Token {
    return this.#error(`bad character ${describeCharacter(this.#peek())}`);
  }

  #skipAlphanumerics(): void {
    for (let next = this.#peek(); isAlphanumeric(next); next = this.#peek()) this.#position += next.length;
  }

  #isAtTerminator(): boolean {
    const next = this.#peek();
    return (
      next === "" || isSpace(next) || ".,|:)(".includes(next) || this.#input.startsWith(this.#right, this.#position)
    );
  }

  #quoted(delimiter: string, kind: TokenKind, unterminated: string): Token {
    for (;;) {
      let character = this.#peek();
      this.#position += character.length;
      if (character === delimiter) return this.#emit(kind);
      if (character === "\\") {
        character = this.#peek();
        this.#position += character.length;
      }
      if (character === "" || character === "\n") return this.#error(unterminated);
    }
  }

  #rawString(): Token {
    const end = this.#input.indexOf("`", this.#position);
    if (end < 0) return this.#error("unterminated raw quoted string");
    this.#position = end + 1;
    return this.#emit("raw string");
  }

  #number(): Token {
    const { end, kind } = scanNumber(this.#input, this.#position, isAlphanumeric);
    this.#position = end;
    if (kind === "bad") return this.#error(`bad number syntax: ${quote(this.#input.slice(this.#start, end))}`);
    return this.#emit(kind);
  }

  #peek(): string {
    const code = this.#input.codePointAt(this.#position);
    return code === undefined ? "" : code < 0x80 ? this.#input.charAt(this.#position) : String.fromCodePoint(code);
  }

  #emit(kind: TokenKind): Token {
    const text = kind === "EOF" ? "EOF" : this.#input.slice(this.#start, this.#position);
    const token = { kind, position: this.#start, text, line: this.#line };
    this.#ignore();
    return token;
  }

  #ignore(): void {
    for (let i = this.#input.indexOf("\n", this.#start); i >= 0 && i < this.#position;) {
      this.#line++;
      i = this.#input.indexOf("\n", i + 1);
    }
    this.#start = this.#position;
  }

  #error(text: string): Token {
    const token: Token = { kind: "error", position: this.#start, text, line: this.#line };
    this.#input = "";
    this.#position = this.#start = 0;
    this.#insideAction = false;
    return token;
  }
}
