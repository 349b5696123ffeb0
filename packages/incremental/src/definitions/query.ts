import { structurallyEqual } from "../values/equality.js";
import type { QueryContext } from "./context.js";

/** A pure function of what it reads through its context, memoized for each argument and each class of clients. */
export interface Query<A, R> {
  readonly kind: "query";
  readonly id: number;
  readonly name: string;
  compute(q: QueryContext, arg: A): R;
  /** The identity of an argument, where the canonical form of a `Key` is not wanted. */
  readonly key: ((arg: A) => string) | undefined;
  equals(before: R, after: R): boolean;
}

export interface QueryOptions<A, R> {
  /** The identity of an argument: two arguments with one key must be interchangeable. Default: the argument itself, as a `Key`. */
  readonly key?: (arg: A) => string;
  /** Whether a new result is no change. Default: structural equality. The old object is then kept, so identity is stable. */
  readonly equals?: (before: R, after: R) => boolean;
}

let definitions = 0;

/**
 * Declares a query. `arg` must be a `Key` unless `options.key` is given. The result must be treated as immutable, and be plain data
 * for early cutoff to see that it is equal (see `structurallyEqual`).
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
