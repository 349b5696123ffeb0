import { reasonOf } from "@istiod/runtime";
import { TemplateError } from "../error.js";
import { unquote } from "../values/quote.js";
import { type Delimiters, Lexer } from "./lexer.js";
import { isEmpty, type Statement } from "./nodes.js";
import { PipelineParser } from "./pipeline-parser.js";
import { TokenStream } from "./token-stream.js";
import type { Token } from "./tokens.js";

/** A template of a source: its own, or one that `define` or `block` adds. */
export interface Definition {
  readonly name: string;
  readonly source: Source;
  readonly statements: readonly Statement[];
}

/** The text in which nodes have their positions. */
export interface Source {
  readonly name: string;
  readonly text: string;
}

/** Context of parsing. */
export interface ParseOptions extends Delimiters {
  readonly hasFunction: (name: string) => boolean;
  /** Depth of parentheses, and of nested actions. */
  readonly maxDepth: number;
}

/**
 * Returns the definitions of a source by their names, the source's own among them.
 *
 * @throws TemplateError `parse`, with the line
 */
export function parse(source: Source, options: ParseOptions): ReadonlyMap<string, Definition> {
  const { hasFunction } = options;
  const isKeyword = (word: string): boolean => (word !== "break" && word !== "continue") || !hasFunction(word);
  const tokens = new TokenStream(new Lexer(source.text, options, isKeyword), source.name);
  const definitions = new Map<string, Definition>();
  new DefinitionParser(tokens, source, options, definitions).parseSource();
  return definitions;
}

/** The action that ends a list of statements. */
type Terminator = "end" | "else" | "else if" | "else with";

class DefinitionParser {
  readonly #tokens: TokenStream;
  readonly #source: Source;
  readonly #options: ParseOptions;
  readonly #definitions: Map<string, Definition>;
  readonly #pipelines: PipelineParser;
  #ranges = 0;
  #depth: number;

  constructor(
    tokens: TokenStream,
    source: Source,
    options: ParseOptions,
    definitions: Map<string, Definition>,
    depth = 0,
  ) {
    this.#tokens = tokens;
    this.#source = source;
    this.#options = options;
    this.#definitions = definitions;
    this.#depth = depth;
    this.#pipelines = new PipelineParser(tokens, options.hasFunction, options.maxDepth);
  }

  parseSource(): void {
    const statements: Statement[] = [];
    while (this.#tokens.peek().kind !== "EOF") {
      if (this.#tokens.peek().kind === "left delimiter") {
        const delimiter = this.#tokens.next();
        const word = this.#tokens.nextNonSpace();
        if (word.kind === "define") {
          this.#nested().#parseDefinition();
          continue;
        }
        this.#tokens.putBack(delimiter, word);
      }
      const next = this.#statement();
      if (typeof next === "string") this.#tokens.fail(`unexpected {{${next === "end" ? "end" : "else"}}}`);
      statements.push(next);
    }
    this.#add(this.#source.name, statements);
  }

  #nested(): DefinitionParser {
    return new DefinitionParser(this.#tokens.nested(), this.#source, this.#options, this.#definitions, this.#depth);
  }

  #parseDefinition(): void {
    const context = "define clause";
    const name = this.#string(this.#tokens.expect(["string", "raw string"], context));
    this.#tokens.expect(["right delimiter"], context);
    this.#parseBody(name, context);
  }

  #parseBody(name: string, context: string): void {
    const { statements, terminator } = this.#statements();
    if (terminator !== "end") this.#tokens.fail(`unexpected {{else}} in ${context}`);
    this.#add(name, statements);
  }

  #add(name: string, statements: readonly Statement[]): void {
    const existing = this.#definitions.get(name);
    if (existing === undefined || isEmpty(existing.statements))
      this.#definitions.set(name, { name, source: this.#source, statements });
    else if (!isEmpty(statements)) this.#tokens.fail(`template: multiple definition of template "${name}"`);
  }

  #statements(): { readonly statements: readonly Statement[]; readonly terminator: Terminator } {
    if (++this.#depth > this.#options.maxDepth) this.#tokens.fail("max nesting depth exceeded");
    const statements: Statement[] = [];
    while (this.#tokens.peekNonSpace().kind !== "EOF") {
      const next = this.#statement();
      if (typeof next !== "string") {
        statements.push(next);
        continue;
      }
      this.#depth--;
      return { statements, terminator: next };
    }
    return this.#tokens.fail("unexpected EOF");
  }

  #statement(): Statement | Terminator {
    const token = this.#tokens.nextNonSpace();
    if (token.kind === "text") return { kind: "text", position: token.position, text: token.text };
    if (token.kind !== "left delimiter") this.#tokens.unexpected(token, "input");
    this.#tokens.actionLine = token.line;
    const statement = this.#action();
    this.#tokens.actionLine = 0;
    return statement;
  }

  #action(): Statement | Terminator {
    const token = this.#tokens.nextNonSpace();
    switch (token.kind) {
      case "block":
        return this.#block();
      case "break":
      case "continue":
        return this.#jump(token, token.kind);
      case "else":
        return this.#else();
      case "end":
        this.#tokens.expect(["right delimiter"], "end");
        return "end";
      case "if":
      case "range":
      case "with":
        return this.#branch(token.kind);
      case "template":
        return this.#template();
      default: {
        this.#tokens.putBack(token);
        const { position } = this.#tokens.peek();
        return { kind: "action", position, pipe: this.#pipelines.parse("command", "right delimiter") };
      }
    }
  }

  #jump({ position }: Token, kind: "break" | "continue"): Statement {
    const token = this.#tokens.nextNonSpace();
    if (token.kind !== "right delimiter") this.#tokens.unexpected(token, `{{${kind}}}`);
    if (this.#ranges === 0) this.#tokens.fail(`{{${kind}}} outside {{range}}`);
    return { kind, position };
  }

  #else(): Terminator {
    const { kind } = this.#tokens.peekNonSpace();
    if (kind === "if" || kind === "with") return `else ${kind}`;
    this.#tokens.expect(["right delimiter"], "else");
    return "else";
  }

  #branch(kind: "if" | "with" | "range"): Statement {
    const variables = this.#pipelines.mark();
    const pipe = this.#pipelines.parse(kind, "right delimiter");
    if (kind === "range") this.#ranges++;
    const { statements: list, terminator } = this.#statements();
    if (kind === "range") this.#ranges--;
    const elseList = terminator === "end" ? undefined : this.#elseList(kind, terminator);
    this.#pipelines.forgetSince(variables);
    return { kind, position: pipe.position, pipe, list, elseList };
  }

  #elseList(kind: "if" | "with" | "range", terminator: Terminator): readonly Statement[] {
    if (kind !== "range" && terminator === `else ${kind}`) {
      this.#tokens.next();
      if (++this.#depth > this.#options.maxDepth) this.#tokens.fail("max nesting depth exceeded");
      const list = [this.#branch(kind)];
      this.#depth--;
      return list;
    }
    const { statements, terminator: last } = this.#statements();
    if (last !== "end") this.#tokens.fail("expected end; found {{else}}");
    return statements;
  }

  #block(): Statement {
    const context = "block clause";
    const token = this.#tokens.nextNonSpace();
    const name = this.#templateName(token, context);
    const pipe = this.#pipelines.parse(context, "right delimiter");
    this.#nested().#parseBody(name, context);
    return { kind: "template", position: token.position, name, pipe };
  }

  #template(): Statement {
    const context = "template clause";
    const token = this.#tokens.nextNonSpace();
    const name = this.#templateName(token, context);
    const next = this.#tokens.nextNonSpace();
    if (next.kind === "right delimiter") return { kind: "template", position: token.position, name, pipe: undefined };
    this.#tokens.putBack(next);
    const pipe = this.#pipelines.parse(context, "right delimiter");
    return { kind: "template", position: token.position, name, pipe };
  }

  #templateName(token: Token, context: string): string {
    if (token.kind !== "string" && token.kind !== "raw string") this.#tokens.unexpected(token, context);
    return this.#string(token);
  }

  #string(token: Token): string {
    try {
      return unquote(token.text);
    } catch (cause) {
      if (cause instanceof TemplateError) throw cause;
      return this.#tokens.fail(reasonOf(cause));
    }
  }
}
