import { parse } from "@bufbuild/cel";
import type { Place } from "./place.js";
import { isProgramWithin } from "./regex/regex.js";

type Expression = NonNullable<ReturnType<typeof parse>["expr"]>;

/** Maximum length of an expression in bytes. */
const maxLength = 1024;

/** Maximum nesting of an expression: Envoy's parser stops at 32. */
const maxDepth = 24;

/** Maximum size of the program of a pattern in an expression, as Envoy bounds it (`regex_max_program_size`). */
const maxPatternSize = 100;

/** Functions that Envoy knows: those of CEL's standard library, and of its library of regular expressions. */
const functions = new Set(
  (
    "has size contains endsWith startsWith matches timestamp duration int uint double string bytes bool type dyn " +
    "getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth " +
    "getSeconds extract capture captureN"
  ).split(" "),
);

/**
 * Checks a CEL expression: its syntax, and what makes Envoy reject the whole listener, such as an unknown function.
 * Only the proxy knows which names it can refer to.
 */
export function checkExpression(expression: string, place: Place): void {
  const length = Buffer.byteLength(expression);
  if (length > maxLength) return place.error(`has ${length} bytes, expected at most ${maxLength}`);
  let parsed: Expression | undefined;
  try {
    parsed = parse(expression).expr;
  } catch (cause) {
    return place.error(`is not a CEL expression: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const fault = expressionFault(parsed, 0);
  if (fault !== undefined) place.error(fault);
}

function expressionFault(expression: Expression | undefined, depth: number): string | undefined {
  if (expression === undefined) return undefined;
  if (depth > maxDepth) return `is nested more than ${maxDepth} levels deep`;
  const { exprKind } = expression;
  const within = (...parts: readonly (Expression | undefined)[]): string | undefined =>
    parts.reduce<string | undefined>((fault, part) => fault ?? expressionFault(part, depth + 1), undefined);
  switch (exprKind.case) {
    case "comprehensionExpr":
      return "has a macro over a list such as exists() or map(), which proxies do not support";
    case "structExpr":
      if (exprKind.value.messageName !== "") return `creates ${exprKind.value.messageName}, which proxies do not know`;
      return within(
        ...exprKind.value.entries.flatMap(({ keyKind, value }) => [
          keyKind.case === "mapKey" ? keyKind.value : undefined,
          value,
        ]),
      );
    case "listExpr":
      return within(...exprKind.value.elements);
    case "selectExpr":
      return within(exprKind.value.operand);
    case "callExpr": {
      const { function: name, target, args } = exprKind.value;
      if (/^[A-Za-z]/.test(name) && !functions.has(name)) return `calls ${name}(), which proxies do not know`;
      return patternFault(name, args) ?? within(target, ...args);
    }
    default:
      return undefined;
  }
}

/** Returns the fault of a pattern that is a constant: `text.matches(pattern)` or `matches(text, pattern)`. */
function patternFault(name: string, args: readonly Expression[]): string | undefined {
  const pattern = name === "matches" ? args.at(-1)?.exprKind : undefined;
  if (pattern?.case !== "constExpr" || pattern.value.constantKind.case !== "stringValue") return undefined;
  const text = pattern.value.constantKind.value;
  try {
    return isProgramWithin(text, maxPatternSize)
      ? undefined
      : `has the pattern ${JSON.stringify(text)}, which compiles to a program of more than ${maxPatternSize} instructions: proxies reject larger ones in expressions`;
  } catch {
    return `has the pattern ${JSON.stringify(text)}, which is not an RE2 pattern`;
  }
}
