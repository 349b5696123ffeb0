import { nearestNames } from "@istiod/settings";
import { each, type Place } from "../place.js";
import { argumentFault } from "./argument.js";
import { coalesceFault } from "./coalesce.js";
import { type Operator, operators, pathWithoutQuery } from "./operators.js";

/** The place of a format string. */
export interface FormatStringUse {
  /** True where Envoy has the operator `REQ_WITHOUT_QUERY`: in access logs. */
  readonly pathWithoutQuery?: boolean;
}

/** The operator at the beginning of a text: `%NAME%` or `%NAME(argument)%`, with an optional length, `:10`. */
const operatorPattern = /^%([A-Z0-9_]+)(?:\(([^\n]*?)\))?(?::([0-9]+))?%/;

const maxLength = 2n ** 64n - 1n;

/** Maximum nesting of COALESCE. */
const maxDepth = 8;

/** Checks a format string of Envoy's. An invalid one makes Envoy reject the whole listener or route configuration. */
export function checkFormatString(text: string, place: Place, use: FormatStringUse = {}): void {
  const fault = formatStringFault(text, use);
  if (fault !== undefined) place.error(fault);
}

/**
 * Returns the reason why Envoy 1.40 would reject a format string; undefined if it accepts it. Source: its parser
 * (`source/common/formatter`).
 */
export function formatStringFault(text: string, use: FormatStringUse = {}): string | undefined {
  for (let at = text.indexOf("%"); at >= 0; at = text.indexOf("%", at)) {
    if (text[at + 1] === "%") {
      at += 2;
      continue;
    }
    const match = operatorPattern.exec(text.slice(at));
    if (match === null || (match[3] !== undefined && BigInt(match[3]) > maxLength))
      return `has ${quoted(text.slice(at))}, expected a variable such as %PROTOCOL%, %REQ(NAME)% or %REQ(NAME):10%, or %% for a percent sign`;
    const [whole, name = "", argument = "", length] = match;
    const fault = operatorFault(name, argument, length !== undefined, use);
    if (fault !== undefined) return `has ${quoted(whole)}, ${fault}`;
    at += whole.length;
  }
  return undefined;
}

/** Checks the strings of a structured format: an object of strings, numbers, booleans, lists and objects. */
export function checkStructuredFormat(value: unknown, place: Place, use: FormatStringUse = {}): void {
  if (typeof value === "string") checkFormatString(value, place, use);
  else if (Array.isArray(value)) each(value, place, (inner, at) => checkStructuredFormat(inner, at, use));
  else if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) checkStructuredFormat(inner, place.at(key), use);
}

function operatorFault(
  name: string,
  argument: string,
  hasLength: boolean,
  use: FormatStringUse,
  depth = 0,
): string | undefined {
  const operator = operatorOf(name, use);
  if (operator === undefined) {
    const [nearest] = nearestNames(name, operators.keys());
    return `but proxies have no variable ${name}${nearest === undefined ? "" : `; did you mean ${nearest}?`}`;
  }
  if (argument === "" && operator.required) return `but ${name} requires an argument, %${name}(…)%`;
  if (argument !== "" && operator.argument === "none") return `but ${name} takes no argument`;
  if (hasLength && !operator.length) return `but ${name} takes no length`;
  if (operator.argument !== "coalesce") return argumentFault(operator.argument, argument);
  if (depth === maxDepth) return `but COALESCE is nested more than ${maxDepth} levels deep`;
  // Envoy looks for built-in operators only.
  return coalesceFault(argument, (command, param, limited) => operatorFault(command, param, limited, {}, depth + 1));
}

function operatorOf(name: string, use: FormatStringUse): Operator | undefined {
  const [known, operator] = pathWithoutQuery;
  return use.pathWithoutQuery === true && name === known ? operator : operators.get(name);
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
