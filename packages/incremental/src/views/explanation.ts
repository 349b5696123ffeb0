import type { Query } from "../definitions/context.js";
import type { Key } from "../values/key.js";

/** One read of an input. `changedAt` is the revision of its last change; 0 if it never changed. */
export type ExplainedRead =
  | {
      readonly kind: "entry";
      readonly collection: string;
      readonly key: string;
      readonly present: boolean;
      readonly changedAt: number;
    }
  | {
      readonly kind: "bucket";
      readonly index: string;
      readonly collection: string;
      readonly bucket: string;
      /** The keys of the entries in it, sorted. */
      readonly members: readonly string[];
      readonly changedAt: number;
    }
  | { readonly kind: "keys"; readonly of: string; readonly collection: string; readonly changedAt: number }
  | { readonly kind: "all"; readonly collection: string; readonly changedAt: number };

/** A fact with the client's answer, and the fact's own reads. */
export interface ExplainedFact {
  readonly fact: string;
  readonly arg: Key;
  /** Or the error that the fact threw. */
  readonly answer: unknown;
  readonly reads: readonly ExplainedRead[];
  readonly facts: readonly ExplainedFact[];
  readonly calls: readonly ExplainedQuery[];
}

/** A memo with its own reads, in order. A memo called from two places is one object. */
export interface ExplainedQuery {
  readonly query: string;
  /** The query's definition, which identifies it and can be called. */
  readonly definition: Query<never, unknown>;
  readonly arg: Key;
  readonly outcome: "value" | "error";
  /** The query's result, or the error that it threw. */
  readonly result: unknown;
  readonly changedAt: number;
  readonly reads: readonly ExplainedRead[];
  readonly facts: readonly ExplainedFact[];
  readonly calls: readonly ExplainedQuery[];
}

/**
 * Everything that a result was computed from: as a tree with shared nodes, and as lists without repetition in order of
 * first reading.
 */
export interface Explanation {
  readonly tree: ExplainedQuery;
  readonly inputs: readonly ExplainedRead[];
  readonly facts: readonly ExplainedFact[];
  readonly queries: readonly ExplainedQuery[];
}
