import { checkLength, defaultLimits, type Limits, spend, withLimits } from "../budget.js";
import type { Functions } from "../functions.js";
import { type BranchNode, nodeText, type Statement, type TemplateNode } from "../parse/nodes.js";
import type { Definition } from "../parse/parser.js";
import { defaultText, sortedKeys } from "../format/value-text.js";
import { anyType } from "../values/known-types.js";
import { type Operand, operandType, readAs, unwrap } from "../values/operand.js";
import { integerOf, isFunction } from "../values/type-of.js";
import { isTrue } from "../values/truth.js";
import { GoInteger, GoList, GoMap, GoPointer } from "../values/values.js";
import { Evaluator } from "./evaluator.js";
import type { MissingKey } from "./fields.js";
import { Frame } from "./frame.js";

/** Context of an execution. */
export interface ExecutionOptions {
  readonly definitions: ReadonlyMap<string, Definition>;
  readonly functions: Functions;
  readonly missingKey: MissingKey;
  readonly limits: Limits;
}

/**
 * Returns the output of a template.
 *
 * @throws TemplateError `execute` or `limit`
 */
export const execute = (definition: Definition, dot: Operand, options: ExecutionOptions): string =>
  withLimits(options.limits, () => new Execution(options).run(definition, dot));

/** The end of a statement: by itself, or because a loop is to be left or continued. */
type Completion = "normal" | "break" | "continue";

class Execution {
  readonly #options: ExecutionOptions;
  readonly #evaluator: Evaluator;
  readonly #maxDepth: number;
  #output = "";
  #frame: Frame | undefined;

  constructor(options: ExecutionOptions) {
    this.#options = options;
    this.#evaluator = new Evaluator(options.functions, options.missingKey);
    this.#maxDepth = options.limits.templateDepth ?? defaultLimits.templateDepth;
  }

  run(definition: Definition, dot: Operand): string {
    const frame = new Frame(definition, dot, 0);
    this.#frame = frame;
    try {
      this.#list(frame, dot, definition.statements);
    } catch (cause) {
      throw this.#evaluator.error(cause, this.#frame);
    }
    return this.#output;
  }

  #list(frame: Frame, dot: Operand, statements: readonly Statement[]): Completion {
    for (const statement of statements) {
      const completion = this.#statement(frame, dot, statement);
      if (completion !== "normal") return completion;
    }
    return "normal";
  }

  #statement(frame: Frame, dot: Operand, node: Statement): Completion {
    spend(1);
    this.#evaluator.at(node);
    switch (node.kind) {
      case "text":
        this.#write(node.text);
        return "normal";
      case "action": {
        const value = this.#evaluator.pipeline(frame, dot, node.pipe);
        if (node.pipe.variables.length > 0) return "normal";
        this.#evaluator.at(node);
        this.#write(printedText(value, node));
        return "normal";
      }
      case "if":
      case "with":
        return this.#condition(frame, dot, node);
      case "range":
        return this.#range(frame, dot, node);
      case "template":
        this.#template(frame, dot, node);
        return "normal";
      case "break":
      case "continue":
        return node.kind;
    }
  }

  #condition(frame: Frame, dot: Operand, { kind, pipe, list, elseList }: BranchNode): Completion {
    const mark = frame.mark();
    const value = this.#evaluator.pipeline(frame, dot, pipe);
    const statements = isTrue(value) ? list : (elseList ?? []);
    const completion = this.#list(frame, kind === "with" && statements === list ? value : dot, statements);
    frame.pop(mark);
    return completion;
  }

  #range(frame: Frame, dot: Operand, node: BranchNode): Completion {
    const mark = frame.mark();
    const operand = this.#evaluator.pipeline(frame, dot, node.pipe);
    const bodyMark = frame.mark();
    let isEmpty = true;
    for (const [index, element] of iterate(operand, node)) {
      isEmpty = false;
      spend(1);
      setVariables(frame, node, index, element);
      const completion = this.#list(frame, element, node.list);
      frame.pop(bodyMark);
      if (completion === "break") break;
    }
    const completion = isEmpty ? this.#list(frame, dot, node.elseList ?? []) : "normal";
    frame.pop(mark);
    return completion;
  }

  #template(frame: Frame, dot: Operand, node: TemplateNode): void {
    const definition = this.#options.definitions.get(node.name);
    if (definition === undefined) throw new Error(`template "${node.name}" not defined`);
    if (frame.depth >= this.#maxDepth) throw new Error(`exceeded maximum template depth (${this.#maxDepth})`);
    const value = this.#evaluator.pipeline(frame, dot, node.pipe);
    const inner = new Frame(definition, value, frame.depth + 1);
    this.#frame = inner;
    this.#list(inner, value, definition.statements);
    this.#frame = frame;
  }

  #write(text: string): void {
    this.#output += text;
    checkLength(this.#output.length);
  }
}

/** Returns what an action prints. */
function printedText(operand: Operand, node: Statement): string {
  const value = unwrap(operand);
  if (value === undefined) return operand === undefined ? "<no value>" : "<nil>";
  if (isFunction(value)) throw new Error(`can't print ${nodeText(node)} of type ${operandType(value).name}`);
  return defaultText(value instanceof GoPointer && value.target?.text === undefined ? (value.target ?? value) : value);
}

/** Sets the variables of a loop: the index if there are two, and the element. */
function setVariables(frame: Frame, { pipe }: BranchNode, index: Operand, element: Operand): void {
  const [first, second] = pipe.variables;
  if (first === undefined) return;
  if (!pipe.isAssignment) {
    frame.setFromTop(1, element);
    if (second !== undefined) frame.setFromTop(2, index);
  } else if (second === undefined) {
    frame.assign(first.name, element);
  } else {
    frame.assign(first.name, index);
    frame.assign(second.name, element);
  }
}

function* iterate(operand: Operand, { pipe }: BranchNode): Generator<readonly [Operand, Operand]> {
  const value = unwrap(operand);
  if (value === undefined || (value instanceof GoPointer && value.target === null)) return;
  const integer = integerOf(value);
  if (integer !== undefined) {
    if (pipe.variables.length > 1) throw new Error(`can't use ${integer} to iterate over more than one variable`);
    for (let i = 0n; i < integer; i++) yield [undefined, value instanceof GoInteger ? new GoInteger(value.kind, i) : i];
  } else if (value instanceof GoList) {
    const elementType = value.type.element ?? anyType;
    for (const [i, item] of value.items.entries()) yield [BigInt(i), readAs(elementType, item)];
  } else if (value instanceof GoMap) {
    const elementType = value.type.element ?? anyType;
    const entries = sortedKeys(value).map((key) => [key, value.entries.get(key) ?? null] as const);
    for (const [key, item] of entries) yield [key, readAs(elementType, item)];
  } else {
    const target = value instanceof GoPointer && value.target !== null ? value.target : value;
    throw new Error(`range can't iterate over ${defaultText(target)}`);
  }
}
