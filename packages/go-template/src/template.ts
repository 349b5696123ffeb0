import { isStackOverflow, type Limits } from "./budget.js";
import { builtins } from "./builtins/builtins.js";
import { TemplateError } from "./error.js";
import { execute } from "./execute/execution.js";
import type { MissingKey } from "./execute/fields.js";
import type { Functions } from "./functions.js";
import type { Delimiters } from "./parse/lexer.js";
import { isEmpty } from "./parse/nodes.js";
import { type Definition, parse } from "./parse/parser.js";
import { goValue } from "./values/go-value.js";

/** Options of templates. */
export interface TemplateOptions {
  /** Functions that templates may call. They override those of the language. Default: none. */
  readonly functions?: Functions;
  /** Default: `{{` and `}}`. */
  readonly delimiters?: Delimiters;
  /** Treatment of keys that a map lacks. Default: `default`, which prints `<no value>`. */
  readonly missingKey?: MissingKey;
  readonly limits?: Limits;
}

/** Depth of parentheses and of nested actions, as in Go's build for small stacks. */
const maxNesting = 1000;

/** Templates that can call each other. */
export class Template {
  readonly name: string;
  readonly #options: TemplateOptions;
  readonly #definitions = new Map<string, Definition>();

  /** @param name name of the template that `execute` renders, and in messages */
  constructor(name: string, options: TemplateOptions = {}) {
    this.name = name;
    this.#options = options;
  }

  /**
   * Parses a source and adds its templates. A template without any content does not replace one of the same name.
   *
   * @param name default: the name of this template
   * @throws TemplateError `parse`, with the line
   */
  parse(text: string, name = this.name): this {
    const { functions = {}, delimiters = {} } = this.#options;
    const hasFunction = (word: string): boolean => Object.hasOwn(functions, word) || builtins.has(word);
    const source = { name, text };
    for (const definition of parseSafely(() => parse(source, { ...delimiters, hasFunction, maxDepth: maxNesting })))
      if (!this.#definitions.has(definition.name) || !isEmpty(definition.statements))
        this.#definitions.set(definition.name, definition);
    return this;
  }

  /**
   * Returns the output of a template. Plain objects, arrays and maps in the data are converted by `goValue`.
   *
   * @param name default: the name of this template
   * @throws TemplateError `execute` or `limit`
   */
  execute(data: unknown, name = this.name): string {
    const definition = this.#definitions.get(name);
    if (definition === undefined) {
      const message =
        name === this.name
          ? `template: ${name}: "${name}" is an incomplete or empty template`
          : `template: no template "${name}" associated with template "${this.name}"`;
      throw new TemplateError("execute", message);
    }
    const { functions = {}, missingKey = "default", limits = {} } = this.#options;
    return execute(definition, goValue(data) ?? undefined, {
      definitions: this.#definitions,
      functions,
      missingKey,
      limits,
    });
  }
}

/**
 * Parses a template.
 *
 * @throws TemplateError `parse`, with the line
 */
export const parseTemplate = (name: string, text: string, options?: TemplateOptions): Template =>
  new Template(name, options).parse(text);

function parseSafely(read: () => ReadonlyMap<string, Definition>): Iterable<Definition> {
  try {
    return read().values();
  } catch (cause) {
    if (isStackOverflow(cause)) throw new TemplateError("limit", "template: exceeded the maximum depth", { cause });
    throw cause;
  }
}
