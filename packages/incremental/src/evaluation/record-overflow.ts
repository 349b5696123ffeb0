import type { Engine } from "./engine.js";
import type { Frame } from "./frame.js";
import { isOutOfStack } from "./stack-overflow.js";

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
