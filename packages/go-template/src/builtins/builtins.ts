import { sprint, sprintf, sprintln } from "../format/sprintf.js";
import { anyType, stringType } from "../values/known-types.js";
import { type Operand, toValue } from "../values/operand.js";
import { isTrue } from "../values/truth.js";
import type { GoType } from "../values/types.js";
import { GoPointer, type Value } from "../values/values.js";
import { equal, less } from "./compare.js";
import { escapeHtml, escapeJavascript, escapeQuery } from "./escape.js";
import { indexValue, lengthOf, sliceValue } from "./index-value.js";

/** A function of the language itself. Unlike other functions, it sees where a value was read from. */
export interface Builtin {
  readonly parameters: readonly GoType[];
  readonly rest: GoType | undefined;
  readonly call: (args: readonly Operand[]) => Operand;
}

/** Type of parameters that take an operand as it is. */
const operandType: GoType = { name: "reflect.Value", kind: "any value" };

const builtin = (fixed: number, call: Builtin["call"]): Builtin => ({
  parameters: Array.from({ length: fixed }, () => operandType),
  rest: undefined,
  call,
});

const variadic = (fixed: number, call: Builtin["call"]): Builtin => ({ ...builtin(fixed, call), rest: operandType });

const printing = (parameters: readonly GoType[], print: (args: readonly Value[]) => string): Builtin => ({
  parameters,
  rest: anyType,
  call: (args) => print(args.map(toValue)),
});

const escaping = (escape: (text: string) => string): Builtin =>
  printing([], (args) => escape(sprint(args.map(printable))));

/** Returns what an action would print of a value: `<no value>` for nil, and the struct that a pointer points to. */
function printable(value: Value): Value {
  if (value === null) return "<no value>";
  return value instanceof GoPointer && value.target !== null && value.target.text === undefined ? value.target : value;
}

const shortCircuit = variadic(1, () => undefined);

/** The functions of the language by name. `and`, `or` and `call` need the evaluator, which calls them itself. */
export const builtins: ReadonlyMap<string, Builtin> = new Map([
  ["and", shortCircuit],
  ["or", shortCircuit],
  ["call", shortCircuit],
  ["not", builtin(1, ([value]) => !isTrue(value))],
  ["len", builtin(1, ([value]) => lengthOf(value))],
  ["index", variadic(1, ([item, ...indexes]) => indexValue(item, indexes))],
  ["slice", variadic(1, ([item, ...indexes]) => sliceValue(item, indexes))],
  ["eq", variadic(1, ([first, ...others]) => equal(first, others))],
  ["ne", builtin(2, ([a, b]) => !equal(a, [b]))],
  ["lt", builtin(2, ([a, b]) => less(a, b))],
  ["le", builtin(2, ([a, b]) => less(a, b) || equal(a, [b]))],
  ["gt", builtin(2, ([a, b]) => !less(a, b) && !equal(a, [b]))],
  ["ge", builtin(2, ([a, b]) => !less(a, b))],
  ["print", printing([], sprint)],
  ["printf", printing([stringType], ([format, ...args]) => sprintf(String(format), args))],
  ["println", printing([], sprintln)],
  ["html", escaping(escapeHtml)],
  ["js", escaping(escapeJavascript)],
  ["urlquery", escaping(escapeQuery)],
]);
