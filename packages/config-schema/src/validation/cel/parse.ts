import { excerpt, SyntaxFault, type Token, tokensOf } from "./tokens.js";

/** A parsed expression, with the number of its levels. Parentheses do not count as a level. */
export type Node = { readonly height: number; readonly children: readonly Node[] } & (
  | { readonly kind: "literal"; readonly string?: string }
  | { readonly kind: "identifier"; readonly name: string }
  | { readonly kind: "select"; readonly field: string }
  | { readonly kind: "call"; readonly name: string; readonly target: Node | undefined; readonly args: readonly Node[] }
  | { readonly kind: "message"; readonly name: string; readonly fields: readonly string[] }
  | { readonly kind: "operator"; readonly symbol?: string }
);

type Described = Node extends infer N ? (N extends Node ? Omit<N, "height" | "children"> : never) : never;

/** Maximum number of levels of an expression, and of expressions within parentheses, brackets and calls. */
const maxDepth = 32;

/** Words that are not identifiers. Fields may have these names, except the keywords. */
const keywords: ReadonlySet<string> = new Set(["true", "false", "null", "in"]);
const reserved: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

/** Operators by precedence, from the weakest; those of a level are left-associative. */
const binary: readonly (readonly string[])[] = [
  ["<", "<=", ">", ">=", "==", "!=", "in"],
  ["+", "-"],
  ["*", "/", "%"],
];

/**
 * Parses an expression with the grammar and limits of Envoy 1.40's parser (`cel-cpp`, without optional syntax).
 *
 * @throws SyntaxFault
 */
export function parse(expression: string): Node {
  const parser = new Parser(tokensOf(expression));
  const root = parser.whole();
  if (root.height > maxDepth) throw new SyntaxFault(`is nested more than ${maxDepth} levels deep`);
  return root;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = -1;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Node {
    const root = this.#expression();
    if (this.#token.kind !== "end") throw this.#unexpected("an operator");
    return root;
  }

  get #token(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "", value: "" };
  }

  #next(): Token {
    const token = this.#token;
    this.#at++;
    return token;
  }

  #is(text: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return (token?.kind === "symbol" || token?.kind === "identifier") && token.text === text;
  }

  #take(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw this.#unexpected(JSON.stringify(text));
  }

  #unexpected(expected: string): SyntaxFault {
    const rest = this.#tokens.slice(this.#at).map(({ text }) => text);
    return new SyntaxFault(
      rest.length <= 1
        ? `ends too early, expected ${expected}`
        : `has ${excerpt(rest.join(" ").trim())}, expected ${expected}`,
    );
  }

  #expression(): Node {
    if (++this.#depth > maxDepth) throw new SyntaxFault(`is nested more than ${maxDepth} levels deep`);
    const condition = this.#chain("||", () => this.#chain("&&", () => this.#operation(0)));
    let node = condition;
    if (this.#take("?")) {
      const yes = this.#chain("||", () => this.#chain("&&", () => this.#operation(0)));
      this.#expect(":");
      node = build({ kind: "operator" }, [condition, yes, this.#expression()]);
    }
    this.#depth--;
    return node;
  }

  /** Parses operands of `&&` or `||`, which form one level. */
  #chain(operator: string, operand: () => Node): Node {
    const first = operand();
    if (!this.#is(operator)) return first;
    const operands = [first];
    while (this.#take(operator)) operands.push(operand());
    return build({ kind: "operator", symbol: operator }, operands);
  }

  #operation(level: number): Node {
    const operators = binary[level];
    if (operators === undefined) return this.#unary();
    let left = this.#operation(level + 1);
    for (;;) {
      const symbol = operators.find((operator) => this.#is(operator));
      if (symbol === undefined) return left;
      this.#at++;
      left = build({ kind: "operator", symbol }, [left, this.#operation(level + 1)]);
    }
  }

  #unary(): Node {
    if (this.#is("!")) return this.#prefixed("!");
    return this.#is("-") && !this.#isNegativeNumber() ? this.#prefixed("-") : this.#member();
  }

  #prefixed(operator: string): Node {
    while (this.#is(operator)) this.#at++;
    return build({ kind: "operator" }, [this.#member()]);
  }

  #isNegativeNumber(): boolean {
    const kind = this.#tokens[this.#at + 1]?.kind;
    return this.#is("-") && (kind === "integer" || kind === "float");
  }

  #member(): Node {
    let node = this.#primary();
    for (;;) {
      if (this.#take(".")) node = this.#field(node);
      else if (this.#take("[")) {
        node = build({ kind: "operator" }, [node, this.#expression()]);
        this.#expect("]");
      } else return node;
    }
  }

  #field(target: Node): Node {
    const field = this.#next();
    if (field.kind === "identifier" && !keywords.has(field.text) && this.#take("(")) {
      const args = this.#arguments();
      return build({ kind: "call", name: field.text, target, args }, [target, ...args]);
    }
    this.#at--;
    return build({ kind: "select", field: this.#fieldName() }, [target]);
  }

  #fieldName(): string {
    const { kind, text, value } = this.#token;
    if (kind !== "escaped" && (kind !== "identifier" || keywords.has(text)))
      throw this.#unexpected("the name of a field");
    this.#at++;
    return value;
  }

  #arguments(): readonly Node[] {
    const args: Node[] = [];
    if (this.#take(")")) return args;
    do args.push(this.#expression());
    while (this.#take(","));
    this.#expect(")");
    return args;
  }

  #primary(): Node {
    if (this.#isMessage()) return this.#message();
    const { kind, text } = this.#token;
    if (kind === "symbol") return this.#bracketed(text);
    if (kind === "identifier" && !keywords.has(text)) return this.#identifier("");
    if (kind === "end" || kind === "escaped" || text === "in") throw this.#unexpected("a value");
    return this.#literal("");
  }

  #bracketed(symbol: string): Node {
    if (symbol === "-" && this.#isNegativeNumber()) {
      this.#at++;
      return this.#literal("-");
    }
    if (
      symbol === "." &&
      this.#tokens[this.#at + 1]?.kind === "identifier" &&
      !keywords.has(this.#tokens[this.#at + 1]?.text ?? "")
    ) {
      this.#at++;
      return this.#identifier(".");
    }
    if (this.#take("(")) {
      const inner = this.#expression();
      this.#expect(")");
      return inner;
    }
    if (this.#take("["))
      return build(
        { kind: "operator" },
        this.#elements("]", () => [this.#expression()]),
      );
    if (this.#take("{"))
      return build(
        { kind: "operator" },
        this.#elements("}", () => this.#entry()),
      );
    throw this.#unexpected("a value");
  }

  #entry(): readonly Node[] {
    const key = this.#expression();
    this.#expect(":");
    return [key, this.#expression()];
  }

  /** Parses elements up to a closing bracket; a comma may follow the last, or stand alone. */
  #elements(closing: string, element: () => readonly Node[]): readonly Node[] {
    const all: Node[] = [];
    if (!this.#is(closing) && !this.#is(",")) {
      do all.push(...element());
      while (this.#is(",") && !this.#is(closing, 1) && this.#take(","));
    }
    this.#take(",");
    this.#expect(closing);
    return all;
  }

  #identifier(dot: string): Node {
    const { text } = this.#next();
    if (!this.#take("(")) {
      if (reserved.has(text)) throw new SyntaxFault(`refers to ${text}, which is a reserved word`);
      return build({ kind: "identifier", name: dot + text }, []);
    }
    const args = this.#arguments();
    if (reserved.has(text)) throw new SyntaxFault(`calls ${text}(), which is a reserved word`);
    return build({ kind: "call", name: text, target: undefined, args }, args);
  }

  /** Reports whether names separated by dots and an opening brace follow. */
  #isMessage(): boolean {
    const isName = (ahead: number): boolean => {
      const token = this.#tokens[this.#at + ahead];
      return token?.kind === "identifier" && !keywords.has(token.text);
    };
    let ahead = this.#is(".") ? 1 : 0;
    while (isName(ahead)) {
      if (this.#is("{", ahead + 1)) return true;
      if (!this.#is(".", ahead + 1)) return false;
      ahead += 2;
    }
    return false;
  }

  #message(): Node {
    this.#take(".");
    const names = [this.#next().text];
    while (this.#take(".")) names.push(this.#next().text);
    this.#expect("{");
    const fields: string[] = [];
    const values = this.#elements("}", () => {
      fields.push(this.#fieldName());
      this.#expect(":");
      return [this.#expression()];
    });
    return build({ kind: "message", name: names.join("."), fields }, values);
  }

  #literal(sign: string): Node {
    const { kind, text, value } = this.#next();
    if (kind === "string") return build({ kind: "literal", string: value }, []);
    if (kind === "integer") {
      const number = BigInt(text) * (sign === "-" ? -1n : 1n);
      if (number < -(2n ** 63n) || number >= 2n ** 63n)
        throw new SyntaxFault(`has ${sign}${text}, which has more than 64 bits`);
    }
    if (kind === "unsigned" && BigInt(text.slice(0, -1)) >= 2n ** 64n)
      throw new SyntaxFault(`has ${text}, which has more than 64 bits`);
    return build({ kind: "literal" }, []);
  }
}

function build(node: Described, children: readonly Node[]): Node {
  return { ...node, children, height: 1 + children.reduce((most, { height }) => Math.max(most, height), 0) } as Node;
}
