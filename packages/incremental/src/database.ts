import type { Commit, CommitObserver, DatabaseOptions, Statistics, Supposition, Transaction, View } from "./api.js";
import { ClientView } from "./client-view.js";
import type { Collection, Index } from "./definitions/input.js";
import { IncrementalError } from "./errors.js";
import { affectedBy } from "./evaluation/affected.js";
import { Engine } from "./evaluation/engine.js";
import type { Plan, Write, Writes } from "./inputs/inputs.js";
import { Observers, throwLater } from "./observers.js";
import { statistics } from "./statistics.js";
import { Supposed } from "./supposition/supposition.js";

const defaultKeepRevisions = 16;
const defaultKeepUnused = 65_536;

/** Inputs with their revisions, and the memos computed from them. `C` is what a client is to the facts. */
export class Database<C = unknown> {
  readonly #engine: Engine;
  readonly #observers: Observers;
  /** Whether a commit is being applied and announced. */
  #announcing = false;

  constructor(options: DatabaseOptions = {}) {
    this.#engine = new Engine(options.keepRevisions ?? defaultKeepRevisions, options.keepUnused ?? defaultKeepUnused);
    this.#observers = new Observers(options.onObserverError ?? throwLater);
  }

  /** The number of commits that changed something. */
  get revision(): number {
    return this.#engine.revision;
  }

  /**
   * Changes inputs as one revision. The last write to a key counts; values equal to those that they replace change nothing. All or
   * nothing: where `write` throws, or an index's function on a new value (`IncrementalError` with code `index`), nothing is changed.
   */
  commit(write: (tx: Transaction) => void): Commit {
    this.#refuseInside("commit", true);
    this.#refuseInObserver("commit");
    const engine = this.#engine;
    const plan = this.#writing(write, (writes) => engine.inputs.plan(writes));
    if (plan.length === 0) return { revision: engine.revision, changed: [], affected: [] };
    this.#announcing = true;
    try {
      const announceAfter = this.#observers.before();
      const commit = this.#apply(plan);
      announceAfter(commit);
      return commit;
    } finally {
      this.#announcing = false;
    }
  }

  #apply(plan: Plan): Commit {
    const engine = this.#engine;
    const { changes, changed } = engine.inputs.apply(plan);
    const affected = affectedBy(engine, changed);
    const lost = engine.lost.splice(0).filter(({ view }) => engine.clients.has(view));
    engine.retention.sweep(engine);
    engine.noted.length = 0;
    return { revision: engine.revision, changed: changes, affected: [...affected, ...lost] };
  }

  /**
   * Announces every commit that changes something to the observer, until the returned function is called. Observers are called in order of
   * subscription. One that subscribes during a commit is called from the next one on; one that unsubscribes during a commit is not called
   * any more. What an observer throws reaches neither the committer nor other observers: see `DatabaseOptions.onObserverError`.
   */
  observe(observer: CommitObserver): () => void {
    return this.#observers.add(observer);
  }

  /**
   * What results would be if something else were committed now. Nothing is changed: it can be asked until the next commit. Costs what the
   * change itself would, each time that it is supposed.
   */
  suppose(write: (tx: Transaction) => void): Supposition<C> {
    this.#refuseInside("suppose", true);
    return this.#writing(write, (writes) => new Supposed<C>(this.#engine, writes));
  }

  /** The database as one client sees it. Release the view when the client is gone. */
  view(client: C): View<C> {
    return new ClientView<C>(this.#engine, client);
  }

  /** One entry of a collection at the current revision, or the entries of an index's bucket. Not for queries; a commit reads what was before. */
  read<V>(of: Collection<V>, key: string): V | undefined;
  read<V>(of: Index<V>, bucket: string): readonly V[];
  read(of: Collection<unknown> | Index<unknown>, key: string): unknown {
    this.#refuseInside("read");
    const { inputs } = this.#engine;
    return of.kind === "collection" ? inputs.table(of).entries.get(key)?.value : inputs.index(of).peek(key);
  }

  /** The keys of a collection, or the names of an index's buckets that are not empty, sorted. Not for queries. */
  keys(of: Collection<unknown> | Index<unknown>): readonly string[] {
    this.#refuseInside("keys");
    const { inputs } = this.#engine;
    return of.kind === "collection"
      ? inputs
          .table(of)
          .ordered()
          .map((input) => input.key)
      : inputs.index(of).names();
  }

  /** Every value of a collection, in order of keys. Not for queries. */
  all<V>(of: Collection<V>): readonly V[] {
    this.#refuseInside("all");
    return this.#engine.inputs
      .table(of as Collection<unknown>)
      .ordered()
      .map((input) => input.value as V);
  }

  /** Drops at once what no view was asked for since the last commit, without waiting for `keepRevisions`. */
  evict(): void {
    this.#refuseInside("evict", true);
    this.#refuseInObserver("evict");
    this.#engine.retention.evict(this.#engine);
  }

  /** Counts, for tests and metrics. Costs time proportional to the number of distinct paths. */
  stats(): Statistics {
    return statistics(this.#engine);
  }

  #writing<R>(write: (tx: Transaction) => void, use: (writes: Writes) => R): R {
    const engine = this.#engine;
    const writes = new Map<Collection<unknown>, Map<string, Write>>();
    let open = true;
    const put = (of: Collection<unknown>, key: string, value: Write): void => {
      if (!open) throw new IncrementalError("purity", `${of.name} ${key}: written after its commit`);
      const entries = writes.get(of);
      if (entries === undefined) writes.set(of, new Map([[key, value]]));
      else entries.set(key, value);
    };
    engine.committing = true;
    try {
      write({
        set: (of, key, value) => put(of as Collection<unknown>, key, { value }),
        delete: (of, key) => put(of, key, undefined),
      });
      return use(writes);
    } finally {
      open = false;
      engine.committing = false;
    }
  }

  #refuseInside(what: string, writes = false): void {
    const { client, committing, frame } = this.#engine;
    if (client !== null)
      throw new IncrementalError(
        "purity",
        `${what}: called on the database from inside ${frame?.owner.label ?? "a query"}`,
      );
    if (committing && writes)
      throw new IncrementalError("purity", `${what}: called on the database from inside a commit`);
  }

  #refuseInObserver(what: string): void {
    if (!this.#announcing) return;
    throw new IncrementalError("purity", `${what}: called on the database from inside an observer of a commit`);
  }
}
