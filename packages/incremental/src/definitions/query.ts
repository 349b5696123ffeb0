import { structurallyEqual } from "../values/equality.js";
import type { Query, QueryContext } from "./context.js";

export interface QueryOptions<A, R> {
  /**
   * Identifies an argument: arguments with the same key must be interchangeable. Default: the argument itself, as a
   * `Key`.
   */
  readonly key?: (arg: A) => string;
  /** Reports whether a new result equals the old one, whose object is then kept. Default: structural equality. */
  readonly equals?: (before: R, after: R) => boolean;
}

let definitions = 0;

/**
 * Declares a query. `arg` must be a `Key` unless `options.key` is given. The result must be treated as immutable, and
 * be plain data for early cutoff to find it equal (see `structurallyEqual`).
 */
export function query<A = void, R = unknown>(
  name: string,
  compute: (q: QueryContext, arg: A) => R,
  options: QueryOptions<A, R> = {},
): Query<A, R> {
  return {
    kind: "query",
    id: definitions++,
    name,
    compute,
    key: options.key,
    equals: options.equals ?? structurallyEqual,
  };
}
