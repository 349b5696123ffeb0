import { parse } from "@bufbuild/cel";
import type { Place } from "./place.js";

/** Checks the syntax of a CEL expression. Only the proxy knows which names it can refer to. */
export function checkExpression(expression: string, place: Place): void {
  try {
    parse(expression);
  } catch (cause) {
    place.error(`is no CEL expression: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
