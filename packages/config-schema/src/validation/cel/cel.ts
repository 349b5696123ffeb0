import { isProgramWithin } from "../regex/regex.js";
import { creatableMessage } from "./messages.js";
import { type Node, parse } from "./parse.js";
import { SyntaxFault } from "./tokens.js";

/** Maximum length of an expression in characters: that of Envoy's parser. */
const maxLength = 100_000;

/** Maximum size of the program of a pattern in an expression, as Envoy bounds it (`regex_max_program_size`). */
const maxPatternSize = 100;

/** Functions of Envoy 1.40 with their numbers of arguments. Source: its builder of expressions, and its verdicts. */
const functions: ReadonlyMap<string, number> = new Map([
  ...["size", "timestamp", "duration", "int", "uint", "double", "bytes", "bool", "type", "dyn"].map(
    (name) => [name, 1] as const,
  ),
  ...["contains", "endsWith", "startsWith", "matches", "_in_"].map((name) => [name, 2] as const),
  ["__not_strictly_false__", 1],
  ["re.extract", 3],
  ["re.capture", 2],
  ["re.captureN", 2],
]);

/** Functions with a target, `text.contains(part)`, with their least and largest number of arguments. */
const methods: ReadonlyMap<string, readonly [least: number, most: number]> = new Map<string, readonly [number, number]>(
  [
    ["size", [0, 0]],
    ...["contains", "endsWith", "startsWith", "matches"].map((name) => [name, [1, 1]] as const),
    ...(
      "getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth " +
      "getSeconds"
    )
      .split(" ")
      .map((name) => [name, [0, 1]] as const),
  ],
);

/** Macros over a list or map, by their numbers of arguments. */
const comprehensions: Readonly<Record<string, readonly number[]>> = {
  all: [2],
  exists: [2],
  exists_one: [2],
  map: [2, 3],
  filter: [2],
};

/**
 * Returns the reason why Envoy 1.40 would reject an expression; undefined if it accepts it. Names of attributes are not
 * checked, because only a request shows them.
 */
export function celFault(expression: string): string | undefined {
  // Each character has one or two code units.
  if (expression.length > maxLength && [...expression].length > maxLength)
    return `has more than ${maxLength} characters`;
  try {
    return nodeFault(parse(expression));
  } catch (cause) {
    if (cause instanceof SyntaxFault) return `is not valid CEL: it ${cause.message}`;
    throw cause;
  }
}

function nodeFault(node: Node): string | undefined {
  const fault =
    node.kind === "call" ? callFault(node) : node.kind === "message" ? messageFault(node.name, node.fields) : undefined;
  if (fault !== undefined) return fault;
  for (const child of node.children) {
    const inner = nodeFault(child);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

type Call = Node & { readonly kind: "call" };

function callFault({ name, target, args }: Call): string | undefined {
  if (target === undefined && name === "has" && args.length === 1)
    return args[0]?.kind === "select" ? undefined : "calls has() with something else than a field, such as a.b";
  if (target !== undefined && Object.hasOwn(comprehensions, name) && comprehensions[name]?.includes(args.length))
    return `has the macro ${name}(), and proxies do not support macros over lists`;
  const qualified = target === undefined ? name : qualifiedName(target, name);
  const expected = functions.get(qualified ?? "");
  if (expected === args.length) return patternFault(qualified ?? "", args);
  const [least, most] = target === undefined ? [] : (methods.get(name) ?? []);
  if (least !== undefined && most !== undefined && args.length >= least && args.length <= most)
    return patternFault(name, args);
  return unknownCall(qualified ?? name, target !== undefined, args.length);
}

function unknownCall(name: string, hasTarget: boolean, count: number): string {
  const last = name.slice(name.lastIndexOf(".") + 1);
  if (!functions.has(name) && !functions.has(last) && !methods.has(last))
    return `calls ${name}(), which proxies do not know`;
  const args = `${count} argument${count === 1 ? "" : "s"}`;
  return `calls ${last}() ${hasTarget ? "with a target and" : "without a target and with"} ${args}, which proxies do not know`;
}

/** Returns the name of a function of a namespace, such as `re.extract`. */
function qualifiedName(target: Node, name: string): string | undefined {
  if (target.kind === "identifier") return `${target.name.replace(/^\./, "")}.${name}`;
  const [operand] = target.children;
  return target.kind === "select" && operand !== undefined
    ? qualifiedName(operand, `${target.field}.${name}`)
    : undefined;
}

/** Returns the fault of a pattern that is a constant: `text.matches(pattern)` or `matches(text, pattern)`. */
function patternFault(name: string, args: readonly Node[]): string | undefined {
  const pattern = name === "matches" ? args.at(-1) : undefined;
  if (pattern?.kind !== "literal" || pattern.string === undefined) return undefined;
  const text = JSON.stringify(pattern.string);
  try {
    return isProgramWithin(pattern.string, maxPatternSize)
      ? undefined
      : `has the pattern ${text}, which compiles to a program of more than ${maxPatternSize} instructions: proxies reject larger ones in expressions`;
  } catch {
    return `has the pattern ${text}, which is not an RE2 pattern`;
  }
}

function messageFault(name: string, fields: readonly string[]): string | undefined {
  const message = creatableMessage(name);
  if (message === undefined)
    return `creates ${name}, expected a message of the package google.protobuf, such as google.protobuf.Duration`;
  const unknown = fields.find((field) => !message.fields.some((known) => known.name === field));
  return unknown === undefined ? undefined : `creates ${name} with the field ${unknown}, which it does not have`;
}
