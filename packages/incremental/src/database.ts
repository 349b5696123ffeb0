import type {
  Commit,
  CommitObserver,
  DatabaseOptions,
  DryRun,
  IndexFailure,
  Statistics,
  Transaction,
  View,
} from "./api.js";
import type { Collection, Index } from "./definitions/context.js";
import { EngineDryRun } from "./dry-run/dry-run.js";
import { IncrementalError } from "./errors.js";
import { Engine } from "./evaluation/engine.js";
import { evaluator } from "./evaluation/evaluator.js";
import type { Plan, Write, Writes } from "./inputs/plan.js";
import { invalidate } from "./invalidation/affected.js";
import { Observers, throwLater } from "./observers.js";
import { collect, collectAll, type RetentionLimits } from "./retention/collect.js";
import { statistics } from "./statistics.js";
import { ClientView } from "./views/client-view.js";

const defaultKeepRevisions = 16;
const defaultKeepUnused = 65_536;

/** Inputs with their revisions, and the memos computed from them. `C` is the type of the clients that facts receive. */
export class Database<C = unknown> {
  readonly #engine: Engine;
  readonly #limits: RetentionLimits;
  readonly #observers: Observers;
  /** True if a commit is being planned, applied or announced. */
  #committing = false;

  constructor(options: DatabaseOptions = {}) {
    const { keepRevisions = defaultKeepRevisions, keepUnused = defaultKeepUnused } = options;
    this.#engine = new Engine(evaluator, options.onIndexFailure ?? (() => undefined));
    this.#limits = { keepRevisions, keepUnused };
    this.#observers = new Observers(options.onObserverError ?? throwLater);
  }

  /** The number of commits that changed something. */
  get revision(): number {
    return this.#engine.revision;
  }

  /**
   * Changes inputs as one revision. The last write to a key applies; writing an equal value changes nothing. If
   * `write` throws, nothing is changed. An entry for which an index's function throws is in no bucket of that index,
   * and does not affect the others: see `indexFailures`.
   */
  commit(write: (tx: Transaction) => void): Commit {
    this.#requireOutsideWrite("commit");
    this.#requireOutsideCommit("commit");
    const { inputs, revision } = this.#engine;
    const writes = this.#collectWrites(write);
    this.#committing = true;
    try {
      const plan = inputs.plan(writes);
      if (plan.length === 0) return { revision, changed: [], affected: [] };
      const announceAfter = this.#observers.announceBefore();
      const commit = this.#apply(plan);
      announceAfter(commit);
      return commit;
    } finally {
      this.#committing = false;
    }
  }

  /**
   * Calls the observer before and after every commit that changes something, until the returned function is called.
   * Observers are called in order of subscription. One that subscribes during a commit is called from the next one on;
   * one that unsubscribes during a commit is no longer called. Errors that an observer throws affect neither the
   * committer nor other observers: see `DatabaseOptions.onObserverError`.
   */
  observe(observer: CommitObserver): () => void {
    return this.#observers.add(observer);
  }

  /**
   * Evaluates queries as if the writes were committed, without committing them. Each dry run costs what the commit
   * would cost.
   */
  dryRun(write: (tx: Transaction) => void): DryRun<C> {
    this.#requireOutsideWrite("dryRun");
    return new EngineDryRun<C>(this.#engine, this.#collectWrites(write));
  }

  /** Returns a view for a client. Release it when the client is gone. */
  view(client: C): View<C> {
    return new ClientView<C>(this.#engine, this.#limits, client);
  }

  /**
   * Returns an entry of a collection at the current revision, or the entries of an index's bucket. Not for queries.
   * While a commit's writes are collected, it returns the previous state.
   */
  read<V>(of: Collection<V>, key: string): V | undefined;
  read<V>(of: Index<V>, bucket: string): readonly V[];
  read(of: Collection<unknown> | Index<unknown>, key: string): unknown {
    this.#requireOutsideQuery("read");
    const { inputs } = this.#engine;
    return of.kind === "collection" ? inputs.table(of).entries.get(key)?.value : inputs.index(of).peek(key);
  }

  /** Returns the keys of a collection, or the names of an index's non-empty buckets, sorted. Not for queries. */
  keys(of: Collection<unknown> | Index<unknown>): readonly string[] {
    this.#requireOutsideQuery("keys");
    const { inputs } = this.#engine;
    if (of.kind === "index") return inputs.index(of).names();
    const entries = inputs.table(of).ordered();
    return entries.map(({ key }) => key);
  }

  /** Returns every value of a collection, in order of keys. Not for queries. */
  all<V>(of: Collection<V>): readonly V[] {
    this.#requireOutsideQuery("all");
    const entries = this.#engine.inputs.table(of as Collection<unknown>).ordered();
    return entries.map(({ value }) => value as V);
  }

  /**
   * Builds an index before it is read, which would build it at once. Yields after each entry, so that the caller can
   * commit, read and wait in between. Not for queries.
   */
  *buildIndex(of: Index<unknown>): Generator<void> {
    this.#requireOutsideWrite("buildIndex");
    yield* this.#engine.inputs.buildIndex(of);
  }

  /** Returns the entries for which the function of an index that was read throws. Not for queries. */
  indexFailures(): readonly IndexFailure[] {
    this.#requireOutsideQuery("indexFailures");
    return [...this.#engine.inputs.indexFailures()];
  }

  /**
   * Drops at once, without waiting for `keepRevisions`, the results that no view called since the last commit, except
   * followed ones.
   */
  evict(): void {
    this.#requireOutsideWrite("evict");
    this.#requireOutsideCommit("evict");
    collectAll(this.#engine);
  }

  /** Returns counts, for tests and metrics. Takes time proportional to the number of distinct paths. */
  stats(): Statistics {
    return statistics(this.#engine);
  }

  #apply(plan: Plan): Commit {
    const engine = this.#engine;
    const { changes, changed } = engine.inputs.apply(plan);
    const invalidated = invalidate(engine, changed);
    const reset = engine.clients.takeReset();
    collect(engine, this.#limits);
    engine.workspace.trim();
    const affected = reset.length === 0 ? invalidated : [...invalidated, ...reset];
    return { revision: engine.revision, changed: changes, affected };
  }

  #collectWrites(write: (tx: Transaction) => void): Writes {
    const engine = this.#engine;
    const writes = new Map<Collection<unknown>, Map<string, Write>>();
    const put = (of: Collection<unknown>, key: string, value: Write): void => {
      if (closed) throw new IncrementalError("purity", `${of.name} ${key}: written after its commit`);
      const entries = writes.get(of);
      if (entries === undefined) writes.set(of, new Map([[key, value]]));
      else entries.set(key, value);
    };
    let closed = false;
    engine.writing = true;
    try {
      write({
        set: (of, key, value) => put(of as Collection<unknown>, key, { value }),
        delete: (of, key) => put(of, key, undefined),
      });
      return writes;
    } finally {
      closed = true;
      engine.writing = false;
    }
  }

  #requireOutsideQuery(action: string): void {
    const { client, running } = this.#engine.active;
    if (client === null) return;
    const inside = running?.owner?.label ?? "a query";
    throw new IncrementalError("purity", `${action}: called on the database from inside ${inside}`);
  }

  #requireOutsideWrite(action: string): void {
    this.#requireOutsideQuery(action);
    if (!this.#engine.writing) return;
    throw new IncrementalError("purity", `${action}: called on the database from inside a commit`);
  }

  #requireOutsideCommit(action: string): void {
    if (!this.#committing) return;
    throw new IncrementalError("purity", `${action}: called on the database from inside a commit`);
  }
}
