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
