import type { Collection, Index, Query } from "./definitions/context.js";
import type { Explanation } from "./views/explanation.js";

/** The writes of one commit or dry run. Usable only until the function that receives it returns. */
export interface Transaction {
  set<V>(of: Collection<V>, key: string, value: V): void;
  delete(of: Collection<unknown>, key: string): void;
}

/** An entry that a commit changed. */
export interface Change {
  readonly collection: Collection<unknown>;
  readonly key: string;
  /** True if the collection has the key now. */
  readonly present: boolean;
}

export interface Commit {
  /** The revision after the commit: the previous one if nothing changed. */
  readonly revision: number;
  readonly changed: readonly Change[];
  /**
   * The followed results that may have changed, each once: those that depend on a changed input, except those that are
   * found unchanged without evaluating facts of their clients. A result is not reported again until the view calls it.
   */
  readonly affected: readonly Followed[];
}

/**
 * Observes the commits of a database. Both methods may read the database, call views and unsubscribe. They must not
 * commit: a commit inside of them throws an `IncrementalError` with code `purity`, so that all observers see all
 * commits in one order.
 */
export interface CommitObserver {
  /** Called before a commit changes anything, while reads still return the previous state. */
  before?(): void;
  /** Called after the commit. */
  after?(commit: Commit): void;
}

/** An entry of a collection for which an index's function throws. It is in no bucket of that index. */
export interface IndexFailure {
  readonly index: Index<unknown>;
  readonly key: string;
  readonly error: unknown;
}

/** A result that a view follows. */
export interface Followed {
  readonly view: View<unknown>;
  readonly query: Query<never, unknown>;
  readonly arg: unknown;
}

export interface DatabaseOptions {
  /**
   * Revisions for which a memo is kept after its last use by a view. Default 16: a client that is a few pushes behind
   * still finds its results, and those that are not needed any more are dropped within seconds of editing.
   */
  readonly keepRevisions?: number;
  /**
   * Unused results that are kept when a view is released, with the memos that only they use; beyond that, the oldest
   * are dropped. Bounds the results of released views while nothing is committed. Default 65,536.
   */
  readonly keepUnused?: number;
  /** Receives errors that observers throw. Default: they are thrown outside the commit, as uncaught exceptions. */
  readonly onObserverError?: (error: unknown) => void;
  /**
   * Called when an entry is written, or an index is first read, for which the index's function throws. It must not
   * throw, and not use the database. Default: none; see `Database.indexFailures`.
   */
  readonly onIndexFailure?: (failure: IndexFailure) => void;
}

/** The database as one client sees it. */
export interface View<C> {
  readonly client: C;
  /**
   * Returns the query's result at the current revision: the same object as before, and as other clients of the class
   * have, if it is equal.
   */
  call<R>(query: Query<void, R>): R;
  call<A, R>(query: Query<A, R>, arg: A): R;
  /**
   * As `call`, and until `unfollow` or `release`, commits that may change the result report it as affected. Until one
   * does, it is the query's result at the current revision, so it need not be called again. It is kept for as long as
   * it is followed.
   */
  follow<R>(query: Query<void, R>): R;
  follow<A, R>(query: Query<A, R>, arg: A): R;
  /** Stops following a result. Does nothing if it is not followed. */
  unfollow(query: Query<void, unknown>): void;
  unfollow<A>(query: Query<A, unknown>, arg: A): void;
  /** Drops a result, followed or not, with everything that only it uses, instead of keeping it for a while. */
  drop(query: Query<void, unknown>): void;
  drop<A>(query: Query<A, unknown>, arg: A): void;
  /** Returns everything that the result was computed from, by the records of its computation. */
  explain(query: Query<void, unknown>): Explanation;
  explain<A>(query: Query<A, unknown>, arg: A): Explanation;
  /** Releases all state held for this client. Using the view afterwards throws. */
  release(): void;
}

/** The results as they would be after writes that are not committed. Valid until the next commit. */
export interface DryRun<C> {
  /**
   * Returns the result as it would be: the view's own object if it would be equal. Throws what the query would throw.
   */
  call<R>(view: View<C>, query: Query<void, R>): R;
  call<A, R>(view: View<C>, query: Query<A, R>, arg: A): R;
  /**
   * Finds the results that depend on the writes, in steps, so that the caller can yield to the event loop in between.
   * The first `call` does what is left of it.
   */
  prepare(): Iterable<void>;
}

export interface Statistics {
  readonly revision: number;
  /** Views that are not released. */
  readonly views: number;
  /** Memos of all queries. */
  readonly memos: number;
  /** Recorded dependencies, of memos and of facts that read inputs. */
  readonly edges: number;
  /** Facts with arguments that have answers. */
  readonly facts: number;
  /** Estimated bytes of records, without inputs and results. */
  readonly bytes: number;
  /** Runs of query functions since the database was created. */
  readonly recomputations: number;
  /** Recomputations of a result that had become invalid. */
  readonly replacements: number;
  /** Memos that were dropped because they were unused. */
  readonly drops: number;
  /** Memos that were found valid by verifying their dependencies. */
  readonly verifications: number;
  /** Calls that found a valid memo. */
  readonly hits: number;
  /** Runs of fact functions. */
  readonly answers: number;
}
