import { reasonOf } from "@istiod/runtime";
import { builtins, type Builtin } from "../builtins/builtins.js";
import { callValue } from "../builtins/index-value.js";
import { checkLength, isStackOverflow, spend } from "../budget.js";
import { TemplateError } from "../error.js";
import type { Functions } from "../functions.js";
import type { GoFunction } from "../values/values.js";
import {
  type ChainNode,
  type CommandNode,
  type Expression,
  type IdentifierNode,
  type Node,
  nodeText,
  type PipeNode,
  type VariableNode,
} from "../parse/nodes.js";
import { canBeNil, type GoType } from "../values/types.js";
import { Interface, type Operand, readAs, toValue, unwrap, zeroOf } from "../values/operand.js";
import { isTrue } from "../values/truth.js";
import { assign, assignConstant, constantValue } from "./arguments.js";
import { executionError } from "./execution-error.js";
import { fieldOf, methodOf, type MissingKey } from "./fields.js";
import type { Frame } from "./frame.js";

/** Stands for the last argument of a command that does not get one from the command before it. */
const absent = Symbol("absent");
type Final = Operand | typeof absent;

/** Evaluates pipelines. Errors name the node that is evaluated. */
export class Evaluator {
  readonly #functions: Functions;
  readonly #missingKey: MissingKey;
  #node: Node | undefined;

  constructor(functions: Functions, missingKey: MissingKey) {
    this.#functions = functions;
    this.#missingKey = missingKey;
  }

  /** Marks a node as the one that is evaluated. */
  at(node: Node): void {
    this.#node = node;
  }

  /** Returns an error with the place of the current node. */
  error(cause: unknown, { definition }: Frame): TemplateError {
    return executionError(cause, definition, this.#node);
  }

  /** Returns the value of a pipeline, and declares or assigns its variables. */
  pipeline(frame: Frame, dot: Operand, pipe: PipeNode | undefined): Operand {
    if (pipe === undefined) return undefined;
    this.at(pipe);
    let value: Final = absent;
    for (const command of pipe.commands) {
      value = this.#command(frame, dot, command, value);
      if (value instanceof Interface) value = unwrap(value);
    }
    const result = value === absent ? undefined : value;
    for (const { name } of pipe.variables) {
      if (pipe.isAssignment) frame.assign(name, result);
      else frame.declare(name, result);
    }
    return result;
  }

  #command(frame: Frame, dot: Operand, command: CommandNode, final: Final): Operand {
    spend(1);
    const [first, ...args] = command.words;
    switch (first.kind) {
      case "field":
        this.at(first);
        return this.#fieldChain(frame, dot, dot, first, first.names, args, final);
      case "chain":
        return this.#chain(frame, dot, first, args, final);
      case "identifier":
        return this.#function(frame, dot, first, command, args, final);
      case "pipe":
        this.#rejectArguments(first, args, final);
        return this.pipeline(frame, dot, first);
      case "variable":
        return this.#variable(frame, dot, first, args, final);
      default:
        this.at(first);
        this.#rejectArguments(first, args, final);
        if (first.kind === "nil") throw new Error("nil is not a command");
        return first.kind === "dot" ? dot : constantValue(first);
    }
  }

  #rejectArguments(first: Expression, args: readonly Expression[], final: Final): void {
    if (args.length > 0 || final !== absent) throw new Error(`can't give argument to non-function ${wordText(first)}`);
  }

  #chain(frame: Frame, dot: Operand, node: ChainNode, args: readonly Expression[], final: Final): Operand {
    this.at(node);
    if (node.operand.kind === "nil") throw new Error(`indirection through explicit nil in ${nodeText(node)}`);
    const receiver = this.#expression(frame, dot, node.operand);
    return this.#fieldChain(frame, dot, receiver, node, node.fields, args, final);
  }

  #variable(frame: Frame, dot: Operand, node: VariableNode, args: readonly Expression[], final: Final): Operand {
    this.at(node);
    const value = frame.get(node.name);
    if (node.fields.length > 0) return this.#fieldChain(frame, dot, value, node, node.fields, args, final);
    this.#rejectArguments(node, args, final);
    return value;
  }

  #fieldChain(
    frame: Frame,
    dot: Operand,
    receiver: Operand,
    node: Node,
    names: readonly string[],
    args: readonly Expression[],
    final: Final,
  ): Operand {
    let value = receiver;
    for (const [i, name] of names.entries())
      value =
        i < names.length - 1
          ? this.#field(frame, dot, value, node, name, [], absent)
          : this.#field(frame, dot, value, node, name, args, final);
    return value;
  }

  #field(
    frame: Frame,
    dot: Operand,
    receiver: Operand,
    node: Node,
    name: string,
    args: readonly Expression[],
    final: Final,
  ): Operand {
    const method = methodOf(receiver, name);
    if (method !== undefined) return this.#call(frame, dot, method, node, name, args, final);
    return fieldOf(receiver, name, args.length > 0 || final !== absent, this.#missingKey);
  }

  #function(
    frame: Frame,
    dot: Operand,
    node: IdentifierNode,
    command: Node,
    args: readonly Expression[],
    final: Final,
  ): Operand {
    this.at(node);
    const { name } = node;
    if (Object.hasOwn(this.#functions, name)) {
      const declared = this.#functions[name];
      if (declared !== undefined) return this.#call(frame, dot, declared, command, name, args, final);
    }
    const builtin = builtins.get(name);
    if (builtin === undefined) throw new Error(`"${name}" is not a defined function`);
    this.#checkCount(name, builtin, args.length, final);
    if (name === "and" || name === "or") return this.#shortCircuit(frame, dot, name, args, final);
    const operands = this.#arguments(frame, dot, builtin, args, final);
    const call = name === "call" ? callBuiltin(args, operands) : (): Operand => builtin.call(operands);
    return this.#guard(name, command, call);
  }

  #shortCircuit(frame: Frame, dot: Operand, name: "and" | "or", args: readonly Expression[], final: Final): Operand {
    let value: Operand;
    for (const arg of args) {
      value = this.#argument(frame, dot, arg, operandParameter);
      if (isTrue(value) === (name === "or")) return value;
    }
    return final === absent ? value : final;
  }

  #call(
    frame: Frame,
    dot: Operand,
    callee: GoFunction,
    node: Node,
    name: string,
    args: readonly Expression[],
    final: Final,
  ): Operand {
    this.#checkCount(name, callee, args.length, final);
    const operands = this.#arguments(frame, dot, callee, args, final);
    return this.#guard(name, node, () => readAs(callee.result, callee.call(operands.map(toValue))));
  }

  /** Runs a function: its errors are attributed to the command that calls it. */
  #guard(name: string, node: Node, call: () => Operand): Operand {
    try {
      const result = call();
      const value = unwrap(result);
      if (typeof value === "string") checkLength(value.length);
      return result;
    } catch (cause) {
      if (cause instanceof TemplateError || isStackOverflow(cause)) throw cause;
      this.at(node);
      throw new Error(`error calling ${name}: ${reasonOf(cause)}`, { cause });
    }
  }

  #checkCount(name: string, { parameters, rest }: Signature, count: number, final: Final): void {
    const given = final === absent ? count : count + 1;
    const expected = parameters.length;
    if (rest === undefined && given !== expected)
      throw new Error(`wrong number of args for ${name}: want ${expected} got ${given}`);
    if (rest !== undefined && given < expected)
      throw new Error(`wrong number of args for ${name}: want at least ${expected} got ${count}`);
  }

  #arguments(
    frame: Frame,
    dot: Operand,
    { parameters, rest }: Signature,
    args: readonly Expression[],
    final: Final,
  ): Operand[] {
    const operands: Operand[] = [];
    for (const [i, arg] of args.entries()) {
      const type = parameters[i] ?? rest;
      if (type !== undefined) operands.push(this.#argument(frame, dot, arg, type));
    }
    const last = parameters[operands.length] ?? rest;
    if (final !== absent && last !== undefined) operands.push(assign(final, last));
    return operands;
  }

  #argument(frame: Frame, dot: Operand, node: Expression, type: GoType): Operand {
    this.at(node);
    if (node.kind === "nil") {
      if (canBeNil(type)) return zeroOf(type);
      throw new Error(`cannot assign nil to ${type.name}`);
    }
    if (node.kind === "bool" || node.kind === "number" || node.kind === "string") return assignConstant(node, type);
    return assign(this.#expression(frame, dot, node), type);
  }

  /** Returns the value of an expression without arguments. */
  #expression(frame: Frame, dot: Operand, node: Expression): Operand {
    this.at(node);
    switch (node.kind) {
      case "dot":
        return dot;
      case "field":
        return this.#fieldChain(frame, dot, dot, node, node.names, [], absent);
      case "variable":
        return this.#variable(frame, dot, node, [], absent);
      case "pipe":
        return this.pipeline(frame, dot, node);
      case "identifier":
        return this.#function(frame, dot, node, node, [], absent);
      case "chain":
        return this.#chain(frame, dot, node, [], absent);
      default:
        return constantValue(node);
    }
  }
}

/** Parameters of a function. */
type Signature = Pick<Builtin, "parameters" | "rest">;

const operandParameter: GoType = { name: "reflect.Value", kind: "any value" };

const wordText = (node: Expression): string => nodeText(node);

function callBuiltin(args: readonly Expression[], [callee, ...operands]: readonly Operand[]): () => Operand {
  const [node] = args;
  const name = node === undefined ? `<${calleeType(callee)} Value>` : nodeText(node);
  return () => callValue(name, callee, operands);
}

const calleeType = (operand: Operand): string => (operand === undefined ? "invalid" : "func");
