import { isNumeral } from "./numerals.js";

/** A token of a script. `text` is the name, keyword or symbol, or the written form of a string or number. */
export interface Token {
  readonly kind: "name" | "keyword" | "string" | "number" | "symbol" | "end";
  readonly text: string;
}

/** A script that LuaJIT does not compile. The message begins with the line. */
export class SyntaxFault extends Error {}

const keywords: ReadonlySet<string> = new Set(
  "and break do else elseif end false for function goto if in local nil not or repeat return then true until while".split(
    " ",
  ),
);

/** A name, which may have any character beyond ASCII. */
const name = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*/y;
const symbol = /\.\.\.|\.\.|==|~=|<=|>=|::|[-+*/%^#<>=(){}[\];:,.]/y;
const blank = /[ \t\v\f]+/y;
const longBracket = /\[(=*)\[/y;
const lineBreak = /\r\n|\n\r|\r|\n/g;
const restOfLine = /[^\r\n]*/y;

/** Characters of a number: an exponent may have a sign. */
const number = /(?:0[xX](?:[pP][-+]|[0-9A-Za-z_.\u0080-\uffff])*|(?:[eE][-+]|[0-9A-Za-z_.\u0080-\uffff])+)/y;

const end: Token = { kind: "end", text: "<eof>" };

/** Reads the tokens of a script one after the other, with a look at the next one. */
export class Lexer {
  token: Token = end;
  /** Line up to which the script is read. */
  line = 1;
  readonly #text: string;
  #at = 0;
  #next: Token | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  advance(): void {
    this.token = this.#next ?? this.#read();
    this.#next = undefined;
  }

  /** Returns the token after the current one. */
  peek(): Token {
    return (this.#next ??= this.#read());
  }

  /** @throws SyntaxFault */
  fail(problem: string, token = this.token): never {
    return this.#fail(`${problem} near ${excerpt(token.text)}`);
  }

  #fail(problem: string): never {
    throw new SyntaxFault(`line ${this.line}: ${problem}`);
  }

  #read(): Token {
    this.#skip();
    if (this.#at >= this.#text.length) return end;
    const first = this.#text[this.#at] ?? "";
    const second = this.#text[this.#at + 1] ?? "";
    if (/[0-9]/.test(first) || (first === "." && /[0-9]/.test(second))) return this.#number();
    if (first === '"' || first === "'") return this.#string(first);
    const long = first === "[" ? this.#longBracket() : undefined;
    if (long !== undefined) return { kind: "string", text: long };
    if (first === "[" && second === "=") this.#fail("invalid long string delimiter");
    const word = this.#match(name);
    if (word !== undefined) return { kind: keywords.has(word) ? "keyword" : "name", text: word };
    const sign = this.#match(symbol);
    if (sign !== undefined) return { kind: "symbol", text: sign };
    return this.#fail(`unexpected symbol near ${excerpt(first)}`);
  }

  /** Skips blanks, line breaks and comments. */
  #skip(): void {
    for (;;) {
      const first = this.#text[this.#at];
      if (first === "\n" || first === "\r") this.#lineBreak();
      else if (this.#text.startsWith("--", this.#at)) {
        this.#at += 2;
        if (this.#longBracket() === undefined) this.#match(restOfLine);
      } else if (this.#match(blank) === undefined) return;
    }
  }

  #lineBreak(): void {
    const two = this.#text.slice(this.#at, this.#at + 2);
    this.#at += two === "\r\n" || two === "\n\r" ? 2 : 1;
    this.line++;
  }

  #number(): Token {
    const text = this.#match(number) ?? "";
    if (!isNumeral(text)) this.#fail(`malformed number near ${excerpt(text)}`);
    return { kind: "number", text };
  }

  /** Reads `[[…]]` or `[=[…]=]`; undefined if none begins here. */
  #longBracket(): string | undefined {
    const start = this.#at;
    const opening = this.#match(longBracket);
    if (opening === undefined) return undefined;
    const stop = this.#text.indexOf(`]${opening.slice(1, -1)}]`, this.#at);
    if (stop < 0) this.#fail(`unfinished long string or comment near ${excerpt(opening)}`);
    this.#at = stop + opening.length;
    const text = this.#text.slice(start, this.#at);
    this.line += text.match(lineBreak)?.length ?? 0;
    return text;
  }

  #string(quote: string): Token {
    const start = this.#at++;
    for (;;) {
      const at = this.#text[this.#at];
      if (at === undefined || at === "\n" || at === "\r")
        this.#fail(`unfinished string near ${excerpt(this.#text.slice(start, this.#at))}`);
      if (at === "\\") this.#escape();
      else this.#at++;
      if (at === quote) return { kind: "string", text: this.#text.slice(start, this.#at) };
    }
  }

  #escape(): void {
    const following = this.#text[this.#at + 1] ?? "";
    if (following === "\n" || following === "\r") {
      this.#at++;
      return this.#lineBreak();
    }
    if (following === "z") {
      this.#at += 2;
      while (this.#match(blank) !== undefined || /[\r\n]/.test(this.#text[this.#at] ?? ""))
        if (/[\r\n]/.test(this.#text[this.#at] ?? "")) this.#lineBreak();
      return;
    }
    const start = this.#at;
    const written = this.#match(escapeSequence) ?? "";
    const code = Number.parseInt(written.startsWith("\\u{") ? written.slice(3) : "0", 16);
    const isSurrogate = code >= 0xd800 && code <= 0xdfff;
    const isTooLarge = code > 0x10ffff || (/^\\[0-9]/.test(written) && Number(written.slice(1)) > 255);
    if (written === "" || isSurrogate || isTooLarge)
      this.#fail(`invalid escape sequence near ${excerpt(this.#text.slice(start, start + (written.length || 2)))}`);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#text)?.[0];
    if (text !== undefined) this.#at += text.length;
    return text;
  }
}

const escapeSequence = /\\(?:[abfnrtv\\"']|x[0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|[0-9]{1,3})/y;

const excerptLength = 40;

function excerpt(text: string): string {
  return JSON.stringify(text.length > excerptLength ? `${text.slice(0, excerptLength)}…` : text);
}
