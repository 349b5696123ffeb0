import { reasonOf } from "@istiod/runtime";
import { unquote } from "../values/quote.js";
import type { CommandNode, Expression, PipeNode, VariableNode } from "./nodes.js";
import { nodeText } from "./nodes.js";
import { characterConstant, numberConstant } from "./number-constant.js";
import type { TokenStream } from "./token-stream.js";
import type { Token, TokenKind } from "./tokens.js";

const operandKinds: ReadonlySet<TokenKind> = new Set([
  "bool",
  "character constant",
  "complex",
  "dot",
  "field",
  "identifier",
  "number",
  "nil",
  "raw string",
  "string",
  "variable",
  "(",
]);

/** Parses what is inside of actions, and knows the variables that are declared at this point. */
export class PipelineParser {
  readonly #tokens: TokenStream;
  readonly #hasFunction: (name: string) => boolean;
  readonly #maxDepth: number;
  readonly #variables = ["$"];
  #depth = 0;

  constructor(tokens: TokenStream, hasFunction: (name: string) => boolean, maxDepth: number) {
    this.#tokens = tokens;
    this.#hasFunction = hasFunction;
    this.#maxDepth = maxDepth;
  }

  /** Returns the number of declared variables. */
  mark(): number {
    return this.#variables.length;
  }

  /** Forgets the variables declared since `mark`. */
  forgetSince(mark: number): void {
    this.#variables.length = mark;
  }

  /** Parses commands up to a token that ends them. */
  parse(context: string, end: "right delimiter" | ")"): PipeNode {
    const { position } = this.#tokens.peekNonSpace();
    const { variables, isAssignment } = this.#declarations(context);
    const commands: CommandNode[] = [];
    for (;;) {
      const token = this.#tokens.nextNonSpace();
      if (token.kind === end) break;
      if (!operandKinds.has(token.kind)) this.#tokens.unexpected(token, context);
      this.#tokens.putBack(token);
      commands.push(this.#command());
    }
    this.#checkCommands(commands, context);
    return { kind: "pipe", position, isAssignment, variables, commands };
  }

  #checkCommands(commands: readonly CommandNode[], context: string): void {
    if (commands.length === 0) this.#tokens.fail(`missing value for ${context}`);
    for (const [i, { words }] of commands.entries())
      if (i > 0 && ["bool", "dot", "nil", "number", "string"].includes(words[0].kind))
        this.#tokens.fail(`non executable command in pipeline stage ${i + 1}`);
  }

  #declarations(context: string): { readonly variables: readonly VariableNode[]; readonly isAssignment: boolean } {
    const variables: VariableNode[] = [];
    for (;;) {
      if (this.#tokens.peekNonSpace().kind !== "variable") return { variables, isAssignment: false };
      const token = this.#tokens.next();
      const after = this.#tokens.peek();
      const next = this.#tokens.peekNonSpace();
      if (next.kind === "=" || next.kind === ":=") {
        this.#tokens.nextNonSpace();
        variables.push(this.#declare(token));
        return { variables, isAssignment: next.kind === "=" };
      }
      if (next.kind !== "char" || next.text !== ",") {
        this.#tokens.nextNonSpace();
        if (after.kind === "space") this.#tokens.putBack(token, after, next);
        else this.#tokens.putBack(token, next);
        return { variables, isAssignment: false };
      }
      this.#tokens.nextNonSpace();
      variables.push(this.#declare(token));
      if (context !== "range" || variables.length >= 2) this.#tokens.fail(`too many declarations in ${context}`);
      if (!["variable", "right delimiter", ")"].includes(this.#tokens.peekNonSpace().kind))
        this.#tokens.fail("range can only initialize variables");
    }
  }

  #declare({ position, text }: Token): VariableNode {
    this.#variables.push(text);
    return { kind: "variable", position, name: text, fields: [] };
  }

  #command(): CommandNode {
    const { position } = this.#tokens.peekNonSpace();
    const words: Expression[] = [];
    for (;;) {
      this.#tokens.peekNonSpace();
      const operand = this.#operand();
      if (operand !== undefined) words.push(operand);
      const token = this.#tokens.next();
      if (token.kind === "space") continue;
      if (token.kind === "right delimiter" || token.kind === ")") this.#tokens.putBack(token);
      else if (token.kind !== "|") this.#tokens.unexpected(token, "operand");
      break;
    }
    const [first, ...rest] = words;
    return first === undefined
      ? this.#tokens.fail("empty command")
      : { kind: "command", position, words: [first, ...rest] };
  }

  #operand(): Expression | undefined {
    const operand = this.#term();
    if (operand === undefined || this.#tokens.peek().kind !== "field") return operand;
    const { position } = this.#tokens.peek();
    const fields: string[] = [];
    while (this.#tokens.peek().kind === "field") fields.push(this.#tokens.next().text.slice(1));
    switch (operand.kind) {
      case "field":
        return { kind: "field", position, names: [...operand.names, ...fields] };
      case "variable":
        return { kind: "variable", position, name: operand.name, fields };
      case "bool":
      case "string":
      case "number":
      case "nil":
      case "dot":
        return this.#tokens.fail(`unexpected . after term ${JSON.stringify(nodeText(operand))}`);
      default:
        return { kind: "chain", position, operand, fields };
    }
  }

  #term(): Expression | undefined {
    const token = this.#tokens.nextNonSpace();
    const { position, text } = token;
    switch (token.kind) {
      case "identifier":
        if (!this.#hasFunction(text)) this.#tokens.fail(`function ${JSON.stringify(text)} not defined`);
        return { kind: "identifier", position, name: text };
      case "dot":
      case "nil":
        return { kind: token.kind, position };
      case "variable":
        if (!this.#variables.includes(text)) this.#tokens.fail(`undefined variable ${JSON.stringify(text)}`);
        return { kind: "variable", position, name: text, fields: [] };
      case "field":
        return { kind: "field", position, names: [text.slice(1)] };
      case "bool":
        return { kind: "bool", position, value: text === "true" };
      case "character constant":
        return { kind: "number", position, text, constant: this.#attempt(() => characterConstant(text)) };
      case "complex":
      case "number":
        return { kind: "number", position, text, constant: this.#attempt(() => numberConstant(text)) };
      case "string":
      case "raw string":
        return { kind: "string", position, quoted: text, value: this.#attempt(() => unquote(text)) };
      case "(":
        return this.#parenthesized();
      default:
        this.#tokens.putBack(token);
        return undefined;
    }
  }

  #parenthesized(): PipeNode {
    if (this.#depth >= this.#maxDepth) this.#tokens.fail("max expression depth exceeded");
    this.#depth++;
    const pipe = this.parse("parenthesized pipeline", ")");
    this.#depth--;
    return pipe;
  }

  #attempt<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      return this.#tokens.fail(reasonOf(cause));
    }
  }
}
