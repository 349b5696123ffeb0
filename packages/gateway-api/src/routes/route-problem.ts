import { CycleError, isOutOfStack } from "@istiod/incremental";

/** A problem of a route, by the reason of its condition ResolvedRefs. */
export interface RouteProblem {
  readonly reason:
    | "InvalidDestination"
    | "RefNotPermitted"
    | "InvalidKind"
    | "BackendNotFound"
    | "InvalidFilter"
    | "InvalidConfiguration";
  readonly message: string;
}

/** Returns one problem for two. */
export function joinProblems(a: RouteProblem | undefined, b: RouteProblem | undefined): RouteProblem | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { ...a, message: `${a.message}; ${b.message}` };
}

/** Thrown for a problem that disables all rules of a route. */
export class InvalidRouteError extends Error {
  override readonly name = "InvalidRouteError";
  readonly reason: RouteProblem["reason"];

  constructor({ reason, message }: RouteProblem) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Returns the problem for an error of a conversion, which disables all rules of the route. One that is no
 * {@link InvalidRouteError} is a fault of istiod, or of what it accepted, and harms no other route.
 *
 * @throws the errors of the evaluation itself
 */
export function problemOf(error: unknown): RouteProblem {
  if (error instanceof InvalidRouteError) return { reason: error.reason, message: error.message };
  if (error instanceof CycleError || isOutOfStack(error)) throw error;
  const why = error instanceof Error ? error.message : String(error);
  return { reason: "InvalidConfiguration", message: `the rules cannot be converted: ${why}` };
}
