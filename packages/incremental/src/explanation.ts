import type { Query } from "./definitions/query.js";
import type { Key } from "./values/key.js";

/** One read of an input. `changedAt` is the revision of its last change; 0 where it never changed. */
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

/** A fact with the client's answer, and what the fact itself read to give it. */
export interface ExplainedFact {
  readonly fact: string;
  readonly arg: Key;
  /** Or the error that the fact threw. */
  readonly answer: unknown;
  readonly reads: readonly ExplainedRead[];
  readonly facts: readonly ExplainedFact[];
  readonly calls: readonly ExplainedQuery[];
}

/** One memo: what it read itself, in order. A memo called from two places is one object. */
export interface ExplainedQuery {
  readonly query: string;
  /** The query itself: to tell it from others, or to call it again. */
  readonly definition: Query<never, unknown>;
  readonly arg: Key;
  readonly outcome: "value" | "error";
  /** What the query gave, or the error that it threw. */
  readonly result: unknown;
  readonly changedAt: number;
  readonly reads: readonly ExplainedRead[];
  readonly facts: readonly ExplainedFact[];
  readonly calls: readonly ExplainedQuery[];
}

/** Why a result is what it is: as a tree with sharing, and as flat lists without repetition, in the order of first reading. */
export interface Explanation {
  readonly tree: ExplainedQuery;
  readonly inputs: readonly ExplainedRead[];
  readonly facts: readonly ExplainedFact[];
  readonly queries: readonly ExplainedQuery[];
}
