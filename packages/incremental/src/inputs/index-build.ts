import type { CollectionTable } from "./collection-table.js";
import type { IndexTable } from "./index-table.js";
import type { Input } from "./input.js";

interface Placed {
  /** Revision of the value that was placed. */
  readonly changedAt: number;
  readonly buckets: ReadonlySet<string>;
}

/** An index that is built one entry at a time, while commits may change its collection. */
export class IndexBuild {
  readonly #table: CollectionTable;
  readonly #index: IndexTable;
  readonly #placed = new Map<Input, Placed>();
  /** Revision at which the build began. */
  readonly #revision: number;

  /** @param index has no entries, and is not in use */
  constructor(table: CollectionTable, index: IndexTable, revision: number) {
    this.#table = table;
    this.#index = index;
    this.#revision = revision;
  }

  /** Places the entries that have not changed since the build began, one at a time. */
  *place(): Generator<void> {
    for (const entry of this.#table.entries.values()) {
      const { present, changedAt } = entry;
      if (!present || changedAt > this.#revision) continue;
      const placement = this.#index.place(entry.value, entry.key);
      if ("error" in placement) continue;
      this.#index.insertInto(entry, placement.buckets);
      this.#placed.set(entry, { changedAt, buckets: placement.buckets });
      yield;
    }
  }

  /** Corrects the entries that changed since they were placed, and adds the others. Returns the complete index. */
  finish(): IndexTable {
    const { entries } = this.#table;
    for (const [entry, { changedAt, buckets }] of this.#placed) {
      if (entry.present && entry.changedAt === changedAt) continue;
      this.#index.withdraw(entry, buckets);
      this.#placed.delete(entry);
    }
    for (const entry of entries.values()) if (entry.present && !this.#placed.has(entry)) this.#index.insert(entry);
    return this.#index;
  }
}
