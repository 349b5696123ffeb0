import { parse } from "@bufbuild/cel";
import type { Place } from "./place.js";

/** An expression in CEL. Only its syntax is checked: what it may name is known to the proxy. */
export function checkExpression(expression: string, place: Place): void {
  try {
    parse(expression);
  } catch (cause) {
    place.error(`is no CEL expression: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
