import { isOutOfStack } from "@istiod/incremental";
import { reasonOf } from "@istiod/runtime";

/** Returns the message of an error. Throws a stack overflow that depends on the callers, and is not a result. */
export function failureMessage(error: unknown): string {
  if (isOutOfStack(error)) throw error;
  return reasonOf(error);
}
