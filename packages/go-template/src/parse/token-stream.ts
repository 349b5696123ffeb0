import { TemplateError } from "../error.js";
import { quote } from "../values/quote.js";
import type { Lexer } from "./lexer.js";
import { keywords, type Token, type TokenKind } from "./tokens.js";

/** The tokens of one definition, of which up to three can be put back. Errors name the line of the last one read. */
export class TokenStream {
  readonly #lexer: Lexer;
  readonly #name: string;
  readonly #ahead: Token[] = [];
  #lastLine = 0;
  /** Line where the current action began; 0 outside of actions. */
  actionLine = 0;

  constructor(lexer: Lexer, name: string) {
    this.#lexer = lexer;
    this.#name = name;
  }

  /** Returns a stream of the same tokens for a nested definition. */
  nested(): TokenStream {
    return new TokenStream(this.#lexer, this.#name);
  }

  next(): Token {
    return this.#ahead.pop() ?? this.#read();
  }

  peek(): Token {
    const token = this.next();
    this.#ahead.push(token);
    return token;
  }

  nextNonSpace(): Token {
    for (;;) {
      const token = this.next();
      if (token.kind !== "space") return token;
    }
  }

  peekNonSpace(): Token {
    const token = this.nextNonSpace();
    this.#ahead.push(token);
    return token;
  }

  /** Puts tokens back; the last argument was read last. */
  putBack(...tokens: readonly Token[]): void {
    for (const token of tokens.toReversed()) this.#ahead.push(token);
  }

  expect(kinds: readonly TokenKind[], context: string): Token {
    const token = this.nextNonSpace();
    if (!kinds.includes(token.kind)) this.unexpected(token, context);
    return token;
  }

  /** Fails because a token does not belong here. */
  unexpected(token: Token, context: string): never {
    if (token.kind !== "error") this.fail(`unexpected ${describe(token)} in ${context}`);
    let extra = "";
    if (this.actionLine !== 0 && this.actionLine !== token.line) {
      const action = token.text.endsWith(" action") ? "" : " in action";
      extra = `${action} started at ${this.#name}:${this.actionLine}`;
    }
    this.fail(token.text + extra);
  }

  fail(message: string): never {
    throw new TemplateError("parse", `template: ${this.#name}:${this.#lastLine}: ${message}`);
  }

  #read(): Token {
    const token = this.#lexer.next();
    this.#lastLine = token.line;
    return token;
  }
}

function describe(token: Token): string {
  if (token.kind === "EOF") return "EOF";
  if (token.kind === "error") return token.text;
  if (keywords.has(token.kind)) return `<${token.text}>`;
  if (Buffer.byteLength(token.text) > 10) return `${quote(Buffer.from(token.text).subarray(0, 10).toString())}...`;
  return quote(token.text);
}
