import type { Change } from "../api.js";
import type { Collection, Index } from "../definitions/input.js";
import { CollectionTable } from "./collection-table.js";
import { IndexTable } from "./index-table.js";
import { Input, unset, type Home } from "./input.js";

/** A value to put, or `undefined` to delete. */
export type Write = { readonly value: unknown } | undefined;
export type Writes = ReadonlyMap<Collection<unknown>, ReadonlyMap<string, Write>>;

interface Move {
  readonly index: IndexTable;
  /** The entry's buckets before and after the commit. */
  readonly before: ReadonlySet<string>;
  readonly after: ReadonlySet<string>;
}

interface Step {
  readonly table: CollectionTable;
  readonly key: string;
  readonly before: Write;
  readonly write: Write;
  /** One for each of the table's first indexes. */
  readonly moves: readonly Move[];
}

/** The effective writes of a commit, with the buckets that they concern. */
export type Plan = readonly Step[];

const nowhere: Home = { of: null, refresh: () => undefined, unused: () => undefined };
const none: ReadonlySet<string> = new Set();

/** All inputs of a database: collections and their indexes, and the revision. */
export class Inputs {
  revision = 0;
  /** For what must not be trusted beyond the revision in which it was computed. */
  readonly everyRevision = new Input(nowhere, "revision", "");
  readonly #tables: (CollectionTable | IndexTable | undefined)[] = [];

  item(of: Collection<unknown> | Index<unknown>, key: string): Input {
    return of.kind === "collection" ? this.table(of).entry(key) : this.index(of).bucket(key);
  }

  keys(of: Collection<unknown> | Index<unknown>): Input {
    return of.kind === "collection" ? this.table(of).keys : this.index(of).keys;
  }

  all(of: Collection<unknown>): Input {
    return this.table(of).all;
  }

  /** Returns the writes that change something. Throws an `IncrementalError` with code `index` where an index's function throws. */
  plan(writes: Writes): Plan {
    return [...writes].flatMap(([of, entries]) => this.#steps(this.table(of), entries));
  }

  /** Makes one revision of planned writes. Nothing is written where the function of an index added since throws. */
  apply(plan: Plan): { readonly changes: readonly Change[]; readonly changed: ReadonlySet<Input> } {
    const steps = plan.map((step) => withAddedIndexes(step));
    const changed = new Set<Input>();
    const revision = ++this.revision;
    changed.add(this.everyRevision);
    this.everyRevision.changedAt = revision;
    const indexes = new Set<IndexTable>();
    for (const { table, key, write, moves } of steps) {
      const input = table.entry(key);
      table.write(input, write !== undefined, write?.value, revision, changed);
      for (const { index, before, after } of moves) {
        index.move(input, before, after, revision, changed);
        indexes.add(index);
      }
    }
    for (const index of indexes) index.settle(revision, changed);
    return {
      changes: steps.map(({ table, key, write }) => ({ collection: table.of, key, present: write !== undefined })),
      changed,
    };
  }

  /** Forgets who depends on what. */
  detach(): void {
    this.everyRevision.dependents = null;
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
      this.#tables[of.id] = index = new IndexTable(of, table);
      table.indexes.push(index);
    }
    return index;
  }

  #steps(table: CollectionTable, entries: ReadonlyMap<string, Write>): Step[] {
    const steps: Step[] = [];
    for (const [key, write] of entries) {
      const entry = table.entries.get(key);
      const before = entry?.present === true ? { value: entry.value } : undefined;
      if (
        before === undefined ? write === undefined : write !== undefined && table.of.equals(before.value, write.value)
      )
        continue;
      steps.push({
        table,
        key,
        before,
        write,
        moves: table.indexes.map((index) => moveBetween(index, key, before, write)),
      });
    }
    return steps;
  }
}

function moveBetween(index: IndexTable, key: string, before: Write, after: Write): Move {
  return {
    index,
    before: before === undefined ? none : index.bucketsOf(before.value, key),
    after: after === undefined ? none : index.bucketsOf(after.value, key),
  };
}

/** Observers of a commit may read an index for the first time after the commit was planned. */
function withAddedIndexes(step: Step): Step {
  const { table, key, before, write, moves } = step;
  if (moves.length === table.indexes.length) return step;
  const added = table.indexes.slice(moves.length).map((index) => moveBetween(index, key, before, write));
  return { ...step, moves: [...moves, ...added] };
}

/** The input's value, made again if it changed since it was last read. */
export function valueOf(input: Input): unknown {
  return input.value === unset ? input.home.refresh(input) : input.value;
}
