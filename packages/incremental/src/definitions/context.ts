import type { Fact } from "./fact.js";
import type { Collection, Index } from "./input.js";
import type { Query } from "./query.js";

/**
 * All that a query may read. Every method records what it read; nothing else reaches a query.
 * A context lives only while its query runs: using it later throws an `IncrementalError` with code `purity`.
 */
export interface QueryContext {
  /** One entry of a collection; `undefined` where the key is absent, which is a read too. */
  read<V>(of: Collection<V>, key: string): V | undefined;
  /** The entries of one bucket, in order of their keys (by UTF-16 code unit). */
  read<V>(of: Index<V>, bucket: string): readonly V[];
  /** The keys of a collection, or the names of an index's buckets that are not empty, sorted. Changes only when that set changes. */
  keys(of: Collection<unknown> | Index<unknown>): readonly string[];
  /** Every value of a collection in order of keys. The coarsest read: prefer any other. */
  all<V>(of: Collection<V>): readonly V[];
  /** The result of another query. Throws what that query threw, and `CycleError` where it is already being computed. */
  call<R>(query: Query<void, R>): R;
  call<A, R>(query: Query<A, R>, arg: A): R;
  /** A fact about the client that the result is for. Throws what the fact threw. */
  ask<R>(fact: Fact<never, void, R>): R;
  ask<A, R>(fact: Fact<never, A, R>, arg: A): R;
}

/** What a fact may read beside its client. Its reads are recorded for that client alone. */
export type FactContext = QueryContext;
