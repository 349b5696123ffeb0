import type { Change, IndexFailure } from "../api.js";
import type { Collection, Index } from "../definitions/context.js";
import { CollectionTable } from "./collection-table.js";
import { IndexBuild } from "./index-build.js";
import { IndexTable } from "./index-table.js";
import { Input, type InputTable } from "./input.js";
import { planWrites, withAddedIndexes, type Plan, type Writes } from "./plan.js";

const noTable: InputTable = { of: null, refresh: () => undefined, dropUnused: () => undefined };

/** All inputs of a database: collections and their indexes, and the revision. */
export class Inputs {
  /** Changes with every commit: a dependency of memos that are valid in one revision only. */
  readonly revisionInput = new Input(noTable, "revision", "");
  readonly #tables: (CollectionTable | IndexTable | undefined)[] = [];
  readonly #onIndexFailure: (failure: IndexFailure) => void;
  #revision = 0;

  /** `onIndexFailure` receives entries for which an index's function throws. */
  constructor(onIndexFailure: (failure: IndexFailure) => void) {
    this.#onIndexFailure = onIndexFailure;
  }

  /** The number of commits that changed something. */
  get revision(): number {
    return this.#revision;
  }

  item(of: Collection<unknown> | Index<unknown>, key: string): Input {
    return of.kind === "collection" ? this.table(of).entry(key) : this.index(of).bucket(key);
  }

  keys(of: Collection<unknown> | Index<unknown>): Input {
    return of.kind === "collection" ? this.table(of).keys : this.index(of).keys;
  }

  members(of: Index<unknown>, bucket: string): Input {
    return this.index(of).bucketKeys(bucket);
  }

  all(of: Collection<unknown>): Input {
    return this.table(of).all;
  }

  /** Returns the writes that change something. */
  plan(writes: Writes): Plan {
    return [...writes].flatMap(([of, entries]) => planWrites(this.table(of), entries));
  }

  /** Makes one revision of planned writes. */
  apply(plan: Plan): { readonly changes: readonly Change[]; readonly changed: ReadonlySet<Input> } {
    const complete = withAddedIndexes(plan);
    const revision = ++this.#revision;
    const changed = new Set([this.revisionInput.change(revision)]);
    const indexes = new Set<IndexTable>();
    for (const { table, key, write, moves } of complete) {
      const input = table.entry(key);
      table.write(input, write !== undefined, write?.value, revision, changed);
      for (const { index, before, after } of moves) {
        index.move(input, before, after, revision, changed);
        indexes.add(index);
      }
    }
    for (const index of indexes) index.finishMoves(revision, changed);
    const changes = plan.map(({ table, key, write }) => ({ collection: table.of, key, present: write !== undefined }));
    return { changes, changed };
  }

  /** Yields the entries for which the function of an index throws. */
  *indexFailures(): Generator<IndexFailure> {
    for (const table of this.#tables) if (table instanceof IndexTable) yield* table.failures();
  }

  /** Drops the dependents of all inputs. */
  detach(): void {
    this.revisionInput.dependents = null;
    for (const table of this.#tables) table?.detach();
  }

  table(of: Collection<unknown>): CollectionTable {
    let table = this.#tables[of.id] as CollectionTable | undefined;
    if (table === undefined) this.#tables[of.id] = table = new CollectionTable(of);
    return table;
  }

  index(of: Index<unknown>): IndexTable {
    let index = this.#tables[of.id] as IndexTable | undefined;
    if (index === undefined) {
      const table = this.table(of.collection);
      index = this.#add(new IndexTable(of, table.entries.values(), this.#onIndexFailure));
    }
    return index;
  }

  /** Builds an index one entry at a time, unless it is read in between. */
  *buildIndex(of: Index<unknown>): Generator<void> {
    const build = new IndexBuild(
      this.table(of.collection),
      new IndexTable(of, [], this.#onIndexFailure),
      this.#revision,
    );
    for (const _ of build.place()) {
      if (this.#tables[of.id] !== undefined) return;
      yield;
    }
    if (this.#tables[of.id] === undefined) this.#add(build.finish());
  }

  #add(index: IndexTable): IndexTable {
    this.#tables[index.of.id] = index;
    this.table(index.of.collection).indexes.push(index);
    return index;
  }
}
