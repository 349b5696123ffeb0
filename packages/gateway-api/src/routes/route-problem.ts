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
