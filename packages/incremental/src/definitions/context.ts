/** A pure function of its reads through the context, memoized for each argument and each class of clients. */
export interface Query<A, R> {
  readonly kind: "query";
  readonly id: number;
  readonly name: string;
  compute(q: QueryContext, arg: A): R;
  /** Identifies an argument, if the canonical form of a `Key` does not. */
  readonly key: ((arg: A) => string) | undefined;
  equals(before: R, after: R): boolean;
}

/**
 * A named question about a client, with a small answer. Clients with equal answers share the results computed from
 * them.
 */
export interface Fact<C, A, R> {
  readonly kind: "fact";
  readonly id: number;
  readonly name: string;
  compute(client: C, arg: A, q: FactContext): R;
}

/**
 * A keyed input: a map from string keys to values that only `Database.commit` changes. A module constant; it holds no
 * entries itself.
 */
export interface Collection<V> {
  readonly kind: "collection";
  /** Unique in the process; used to find the collection's table in a database. */
  readonly id: number;
  readonly name: string;
  readonly filter: EntryFilter | undefined;
  /** Reports whether replacing `before` by `after` changes nothing. */
  equals(before: V, after: V): boolean;
}

/** A multi-map from bucket names to a collection's entries, kept up to date by commits. */
export interface Index<V> {
  readonly kind: "index";
  readonly id: number;
  readonly name: string;
  readonly collection: Collection<V>;
  /** The collection's. */
  readonly filter: EntryFilter | undefined;
  /** The buckets of an entry; must be a pure function of its arguments. Repeated names count once. */
  buckets(value: V, key: string): Iterable<string>;
}

/**
 * Selects the entries of a collection, by key, that queries and facts see; undefined if they see all. Called with the
 * reader's context, so its reads are recorded as the reader's, and pure as the reader is. Must not read a collection
 * with the same filter.
 */
export type EntryFilter = (q: QueryContext) => ((key: string) => boolean) | undefined;

/**
 * The only way for a query to read anything. Every method records what it reads.
 * A context is valid only while its query runs: using it later throws an `IncrementalError` with code `purity`.
 */
export interface QueryContext {
  /** One entry of a collection; `undefined` if the key is absent, which is recorded as a read too. */
  read<V>(of: Collection<V>, key: string): V | undefined;
  /** The entries of one bucket, in order of their keys (by UTF-16 code unit). */
  read<V>(of: Index<V>, bucket: string): readonly V[];
  /**
   * The keys of a collection, or the names of an index's non-empty buckets, sorted. Changes only when that set changes.
   */
  keys(of: Collection<unknown> | Index<unknown>): readonly string[];
  /**
   * The keys of the entries of one bucket, sorted. Changes only when an entry joins or leaves the bucket, not when its
   * value changes.
   */
  members(of: Index<unknown>, bucket: string): readonly string[];
  /** Every value of a collection in order of keys. The coarsest read: prefer any other. */
  all<V>(of: Collection<V>): readonly V[];
  /**
   * The result of another query. Rethrows the error of that query, and throws `CycleError` if it is already being
   * computed.
   */
  call<R>(query: Query<void, R>): R;
  call<A, R>(query: Query<A, R>, arg: A): R;
  /** A fact about the client that the result is for. Rethrows the error of the fact. */
  ask<R>(fact: Fact<never, void, R>): R;
  ask<A, R>(fact: Fact<never, A, R>, arg: A): R;
}

/** The context of a fact. Its reads are recorded for the fact's client alone. */
export type FactContext = QueryContext;
