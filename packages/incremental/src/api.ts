import type { Collection } from "./definitions/input.js";
import type { Query } from "./definitions/query.js";
import type { Explanation } from "./explanation.js";

/** The writes of one commit. Usable only until the function given to `commit` returns. */
export interface Transaction {
  set<V>(of: Collection<V>, key: string, value: V): void;
  delete(of: Collection<unknown>, key: string): void;
}

/** An entry that really changed. */
export interface Change {
  readonly collection: Collection<unknown>;
  readonly key: string;
  /** Whether the collection has the key now. */
  readonly present: boolean;
}

export interface Commit {
  /** The revision after the commit; the one before it where nothing changed. */
  readonly revision: number;
  readonly changed: readonly Change[];
  /**
   * The followed results that may be others now, each once: those that depend on what changed, but for those that it is found not to reach without
   * asking their clients anything. What was named and not asked for since is not named again.
   */
  readonly affected: readonly Followed[];
}

/**
 * Observes the commits of a database. Both methods may read the database, call views and unsubscribe. They must not commit:
 * a commit inside of them throws an `IncrementalError` with code `purity`, so that all observers see all commits in one order.
 */
export interface CommitObserver {
  /** Called before a commit changes anything, while reads still return the previous state. */
  before?(): void;
  /** Called after the commit. Not called if the commit failed after `before`, because an index's function threw. */
  after?(commit: Commit): void;
}

/** A result that a view follows. */
export interface Followed {
  readonly view: View<unknown>;
  readonly query: Query<never, unknown>;
  readonly arg: unknown;
}

export interface DatabaseOptions {
  /**
   * How many revisions a memo outlives its last use by a live view. Default 16: long enough for a client that is behind by a few
   * pushes to find its results still there, short enough that what nobody asks for is gone within seconds of editing.
   */
  readonly keepRevisions?: number;
  /**
   * How many results that views held and let go of are kept meanwhile, with what only they use; beyond it the oldest are dropped when a view is released. Default
   * 65,536: what clients were asked for and left behind is bounded although nothing is committed.
   */
  readonly keepUnused?: number;
  /** Receives what observers throw. Default: it is thrown outside of the commit, as an uncaught exception. */
  readonly onObserverError?: (error: unknown) => void;
}

/** The database as one client sees it. */
export interface View<C> {
  readonly client: C;
  /** The query's result at the current revision; the same object as before, and as other clients of the class have, where it is equal. */
  call<R>(query: Query<void, R>): R;
  call<A, R>(query: Query<A, R>, arg: A): R;
  /**
   * As `call`, and until `unfollow` or `release` commits name the result when it may be another. As long as none does, it is the query's result at
   * the current revision, so there is no need to ask. It is kept meanwhile, however long nobody asks.
   */
  follow<R>(query: Query<void, R>): R;
  follow<A, R>(query: Query<A, R>, arg: A): R;
  /** The result is not followed any more, if it was. */
  unfollow(query: Query<void, unknown>): void;
  unfollow<A>(query: Query<A, unknown>, arg: A): void;
  /** Everything that the result was made from, by the records of its computation. */
  explain(query: Query<void, unknown>): Explanation;
  explain<A>(query: Query<A, unknown>, arg: A): Explanation;
  /** Lets go of everything kept for this client. Using the view afterwards throws. */
  release(): void;
}

/** Results as they would be after writes that are not made. */
export interface Supposition<C> {
  /** The query's result as it would be; the view's own object where it would be equal. Throws what the query would throw. */
  call<R>(view: View<C>, query: Query<void, R>): R;
  call<A, R>(view: View<C>, query: Query<A, R>, arg: A): R;
}

export interface Statistics {
  readonly revision: number;
  /** Views that are not released. */
  readonly views: number;
  /** Memos kept, of all queries. */
  readonly memos: number;
  /** Recorded dependencies, of memos and of facts that read inputs. */
  readonly edges: number;
  /** Facts with their arguments that some memo was found by. */
  readonly facts: number;
  /** Estimated bytes of records, without inputs and results. */
  readonly bytes: number;
  /** Query functions run since the database was made. */
  readonly recomputations: number;
  /** Those of them that took the place of a result, because something that it had read changed. */
  readonly replacements: number;
  /** Memos dropped because nothing used them for long enough, or any more. */
  readonly drops: number;
  /** Memos found valid by checking their dependencies. */
  readonly verifications: number;
  /** Calls answered by a memo already known to be valid. */
  readonly hits: number;
  /** Fact functions run. */
  readonly answers: number;
}
