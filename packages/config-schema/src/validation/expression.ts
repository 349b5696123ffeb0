import { celFault } from "./cel/cel.js";
import type { Place } from "./place.js";

/** Checks a CEL expression. An invalid one makes Envoy reject the whole listener. */
export function checkExpression(expression: string, place: Place): void {
  const fault = celFault(expression);
  if (fault !== undefined) place.error(fault);
}
