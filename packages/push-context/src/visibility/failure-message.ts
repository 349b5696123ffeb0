import { reasonOf } from "@istiod/runtime";

/** Returns the message of an error. Throws a stack overflow: it depends on the callers, and is not a result. */
export function failureMessage(error: unknown): string {
  if (error instanceof RangeError && error.message.includes("call stack")) throw error;
  return reasonOf(error);
}
