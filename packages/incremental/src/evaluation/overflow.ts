import type { Engine } from "./engine.js";
import type { Frame } from "./frame.js";

/** Calls that must fit on the stack for a stack overflow to be the result of what was called. */
const callsLeft = 6000;

/**
 * Reports whether an error is a stack overflow that depends on the callers, and therefore is no result. If most of the
 * stack is left where the error is caught, the called function needs all of it by itself, and fails wherever it is
 * called.
 */
export function isOutOfStack(error: unknown): boolean {
  return isStackOverflow(error) && !hasStackLeft();
}

function hasStackLeft(): boolean {
  try {
    return descend(callsLeft);
  } catch {
    return false;
  }
}

function descend(calls: number): boolean {
  return calls === 0 || descend(calls - 1);
}

/** Reports whether an error is a stack overflow. The reads before it may not all be known. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}

/**
 * Records that a computation failed by a stack overflow. If that is its result, it is computed again in the next
 * revision, because the overflow may have hidden reads; otherwise the records are incomplete.
 */
export function recordOverflow({ active }: Engine, frame: Frame, error: unknown): void {
  if (active.broken) return;
  active.broken = true;
  if (isOutOfStack(error)) return;
  active.broken = false;
  frame.addRevision();
}
