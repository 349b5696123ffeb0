/** A token of an expression. `value` is the name of an identifier, or the content of a string without escapes. */
export interface Token {
  readonly kind: "identifier" | "escaped" | "integer" | "unsigned" | "float" | "string" | "bytes" | "symbol" | "end";
  readonly text: string;
  readonly value: string;
}

/** An expression that Envoy's parser rejects. The message continues "the expression …". */
export class SyntaxFault extends Error {}

const skipped = /(?:[\t \r\n\f]|\/\/[^\n]*)+/y;

const escape = /\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})/;
const quotedText = [
  [`"""`, `(?:${escape.source}|[^\\\\])*?`],
  [`'''`, `(?:${escape.source}|[^\\\\])*?`],
  [`"`, `(?:${escape.source}|[^\\\\"\\n\\r])*`],
  [`'`, `(?:${escape.source}|[^\\\\'\\n\\r])*`],
] as const;
const rawText = [
  [`"""`, `[^]*?`],
  [`'''`, `[^]*?`],
  [`"`, `[^"\\n\\r]*`],
  [`'`, `[^'\\n\\r]*`],
] as const;

/** The forms of tokens. The longest match counts, then the first form, as in the grammar of Envoy's parser. */
const forms: readonly (readonly [kind: Token["kind"], pattern: RegExp])[] = [
  ["symbol", /==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%]/y],
  ["float", /\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?/y],
  ["unsigned", /(?:0x[0-9a-fA-F]+|\d+)[uU]/y],
  ["integer", /0x[0-9a-fA-F]+|\d+/y],
  ...quotedText.map(([quote, text]) => ["string", new RegExp(`${quote}${text}${quote}`, "y")] as const),
  ...rawText.map(([quote, text]) => ["string", new RegExp(`[rR]${quote}${text}${quote}`, "y")] as const),
  ...quotedText.map(([quote, text]) => ["bytes", new RegExp(`[bB]${quote}${text}${quote}`, "y")] as const),
  ...rawText.map(([quote, text]) => ["bytes", new RegExp(`[bB][rR]${quote}${text}${quote}`, "y")] as const),
  ["identifier", /[A-Za-z_][A-Za-z0-9_]*/y],
  ["escaped", /`[A-Za-z0-9_.\-/ ]+`/y],
];

/** Splits an expression into tokens, the last of which is its end. @throws SyntaxFault */
export function tokensOf(expression: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = afterSkipped(expression, 0); at < expression.length;) {
    const token = longestToken(expression, at);
    if (token === undefined) throw new SyntaxFault(`has ${excerpt(expression.slice(at))}, which is not part of CEL`);
    tokens.push(token);
    at = afterSkipped(expression, at + token.text.length);
  }
  return [...tokens, { kind: "end", text: "", value: "" }];
}

function afterSkipped(expression: string, at: number): number {
  skipped.lastIndex = at;
  return skipped.test(expression) ? skipped.lastIndex : at;
}

function longestToken(expression: string, at: number): Token | undefined {
  let longest: { kind: Token["kind"]; text: string } | undefined;
  for (const [kind, pattern] of forms) {
    pattern.lastIndex = at;
    const text = pattern.exec(expression)?.[0];
    if (text !== undefined && text.length > (longest?.text.length ?? 0)) longest = { kind, text };
  }
  return longest && { ...longest, value: valueOf(longest.kind, longest.text) };
}

function valueOf(kind: Token["kind"], text: string): string {
  if (kind === "escaped") return text.slice(1, -1);
  if (kind !== "string" && kind !== "bytes") return text;
  const [, prefix = "", quote = "", content = ""] = /^([a-zA-Z]*)("""|'''|"|')([^]*)\2$/.exec(text) ?? [];
  if (!/r/i.test(prefix)) return unescaped(content, kind === "bytes");
  if (/(?:^|[^\\])(?:\\\\)*\\$/.test(content)) throw new SyntaxFault(`has a raw string without a closing ${quote}`);
  return content;
}

const controls: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

function unescaped(content: string, bytes: boolean): string {
  return content.replace(new RegExp(escape.source, "g"), (sequence) => {
    const letter = sequence[1] ?? "";
    if (/[0-3]/.test(letter)) return String.fromCodePoint(Number.parseInt(sequence.slice(1), 8));
    if (!/[xXuU]/.test(letter)) return controls[letter] ?? letter;
    const code = Number.parseInt(sequence.slice(2), 16);
    if (/u/i.test(letter)) {
      if (bytes) throw new SyntaxFault(`has ${sequence} in a bytes literal, which has no Unicode escapes`);
      if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        throw new SyntaxFault(`has ${sequence}, which is not a Unicode character`);
    }
    return String.fromCodePoint(code);
  });
}

/** Returns the beginning of a text, quoted. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 30 ? `${text.slice(0, 30)}…` : text);
}
