import { IncrementalError } from "../errors.js";
import type { Computation } from "../records/computation.js";

/** Throws an `IncrementalError` with code `purity` if a query or fact returned a promise. */
export function rejectPromise(owner: Computation, value: unknown): void {
  if (value instanceof Promise) {
    value.catch(() => undefined);
    throw new IncrementalError("purity", `${owner.label}: returned a promise; queries and facts must be synchronous`);
  }
}
