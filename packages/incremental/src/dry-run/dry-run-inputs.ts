import type { Collection, Index, QueryContext } from "../definitions/context.js";
import { includedValues } from "../inputs/included-values.js";
import type { CollectionTable } from "../inputs/collection-table.js";
import type { IndexTable } from "../inputs/index-table.js";
import type { Input } from "../inputs/input.js";
import type { Inputs } from "../inputs/inputs.js";
import { changes, type Write, type Writes } from "../inputs/plan.js";

interface Entry {
  readonly key: string;
  readonly value: unknown;
}

/** A database's inputs with the writes of a dry run, which are not committed. */
export class DryRunInputs {
  readonly #inputs: Inputs;
  /** The writes that change something. */
  readonly #writes = new Map<Collection<unknown>, Map<string, Write>>();
  /** True if the set of keys, or of non-empty buckets, differs. */
  readonly #keysDiffer = new Map<CollectionTable | IndexTable, boolean>();

  constructor(inputs: Inputs, writes: Writes) {
    this.#inputs = inputs;
    for (const [of, entries] of writes) {
      for (const [key, write] of entries) this.#write(inputs.table(of), key, write);
    }
  }

  /** Yields every existing input whose value differs, or may differ. */
  *changed(): Generator<Input> {
    for (const [of, writes] of this.#writes) {
      const table = this.#inputs.table(of);
      yield table.all;
      if (this.#differentKeys(table)) yield table.keys;
      for (const index of table.indexes) if (this.#differentKeys(index)) yield index.keys;
      for (const [key, write] of writes) {
        const entry = table.entries.get(key);
        if (entry !== undefined) yield entry;
        for (const index of table.indexes) yield* this.#changedBuckets(index, key, write);
      }
    }
  }

  /** Reports whether an input's value may differ. The input need not have existed when the dry run began. */
  differs({ table: { of }, kind, key }: Input): boolean {
    const writes = of === null ? undefined : this.#writes.get(of.kind === "index" ? of.collection : of);
    if (of === null || writes === undefined) return false;
    if (kind === "keys") {
      return this.#differentKeys(of.kind === "collection" ? this.#inputs.table(of) : this.#inputs.index(of));
    }
    if (kind !== "item" && kind !== "members") return true;
    if (of.kind === "collection") return writes.has(key);
    const index = this.#inputs.index(of);
    if (kind === "members") return [...writes].some(([entry, write]) => this.#joinsOrLeaves(index, key, entry, write));
    return [...writes].some(([entry, write]) => this.#bucketsOf(index, entry, write).has(key));
  }

  /** Reads as `QueryContext.read`. `reader` is the context that the read is for. */
  read(of: Collection<unknown> | Index<unknown>, key: string, reader: QueryContext): unknown {
    if (of.kind === "index") return this.#included(of, this.#bucket(of, key), reader);
    const value = this.#value(of, key);
    return value === undefined || (of.filter?.(reader)?.(key) ?? true) ? value : undefined;
  }

  keys(of: Collection<unknown> | Index<unknown>, reader: QueryContext): readonly string[] {
    const includes = of.filter?.(reader);
    if (of.kind === "collection") {
      const keys = this.#entries(of).map(({ key }) => key);
      return includes === undefined ? keys : keys.filter(includes);
    }
    const index = this.#inputs.index(of);
    const names = new Set(index.names());
    for (const [key, write] of this.#writes.get(of.collection) ?? []) {
      for (const name of this.#bucketsOf(index, key, write)) names.add(name);
    }
    return [...names].filter((name) => this.#included(of, this.#bucket(of, name), reader).length > 0).sort();
  }

  members(of: Index<unknown>, bucket: string, reader: QueryContext): readonly string[] {
    const keys = this.#bucket(of, bucket).map(({ key }) => key);
    const includes = keys.length === 0 ? undefined : of.filter?.(reader);
    return includes === undefined ? keys : keys.filter(includes);
  }

  all(of: Collection<unknown>, reader: QueryContext): readonly unknown[] {
    return this.#included(of, this.#entries(of), reader);
  }

  #value(of: Collection<unknown>, key: string): unknown {
    const writes = this.#writes.get(of);
    return writes?.has(key) === true ? writes.get(key)?.value : this.#inputs.table(of).entries.get(key)?.value;
  }

  #included(
    { filter }: Collection<unknown> | Index<unknown>,
    entries: readonly Entry[],
    reader: QueryContext,
  ): readonly unknown[] {
    const values = entries.map(({ value }) => value);
    const includes = values.length === 0 ? undefined : filter?.(reader);
    return includes === undefined ? values : includedValues(entries, includes, values);
  }

  #write(table: CollectionTable, key: string, write: Write): void {
    const entry = table.entries.get(key);
    const before = entry?.present === true ? { value: entry.value } : undefined;
    if (!changes(table, before, write)) return;
    const writes = this.#writes.get(table.of) ?? new Map<string, Write>();
    this.#writes.set(table.of, writes.set(key, write));
  }

  #differentKeys(table: CollectionTable | IndexTable): boolean {
    let differ = this.#keysDiffer.get(table);
    if (differ === undefined) {
      differ = "entries" in table ? this.#differentEntries(table) : this.#differentBuckets(table);
      this.#keysDiffer.set(table, differ);
    }
    return differ;
  }

  #differentEntries(table: CollectionTable): boolean {
    const writes = this.#writes.get(table.of) ?? [];
    return [...writes].some(([key, write]) => (table.entries.get(key)?.present === true) !== (write !== undefined));
  }

  #differentBuckets(index: IndexTable): boolean {
    for (const [key, write] of this.#writes.get(index.of.collection) ?? []) {
      for (const name of this.#bucketsOf(index, key, write)) {
        if (index.entriesIn(name).length > 0 !== this.#bucket(index.of, name).length > 0) return true;
      }
    }
    return false;
  }

  *#changedBuckets(index: IndexTable, key: string, write: Write): Generator<Input> {
    for (const name of this.#bucketsOf(index, key, write)) {
      const bucket = index.existing(name);
      if (bucket !== undefined) yield bucket;
      const keys = index.existingKeys(name);
      if (keys !== undefined && this.#joinsOrLeaves(index, name, key, write)) yield keys;
    }
  }

  /** Reports whether a write lets an entry join or leave a bucket. */
  #joinsOrLeaves(index: IndexTable, bucket: string, key: string, write: Write): boolean {
    const entry = this.#inputs.table(index.of.collection).entries.get(key);
    const before = entry?.present === true && index.bucketsOf(entry).has(bucket);
    const after = write !== undefined && index.place(write.value, key).buckets.has(bucket);
    return before !== after;
  }

  /** Returns the buckets of an entry before and after a write. */
  #bucketsOf(index: IndexTable, key: string, write: Write): ReadonlySet<string> {
    const entry = this.#inputs.table(index.of.collection).entries.get(key);
    const before = entry?.present === true ? index.bucketsOf(entry) : [];
    return new Set([...before, ...(write === undefined ? [] : index.place(write.value, key).buckets)]);
  }

  #entries(of: Collection<unknown>): readonly Entry[] {
    return this.#withWrites(this.#inputs.table(of).ordered(), of, () => true);
  }

  #bucket(of: Index<unknown>, name: string): readonly Entry[] {
    const index = this.#inputs.index(of);
    const belongs = (value: unknown, key: string): boolean => index.place(value, key).buckets.has(name);
    return this.#withWrites(index.entriesIn(name), of.collection, belongs);
  }

  #withWrites(
    present: readonly Input[],
    of: Collection<unknown>,
    belongs: (value: unknown, key: string) => boolean,
  ): readonly Entry[] {
    const writes = this.#writes.get(of);
    if (writes === undefined) return present;
    const kept: Entry[] = present.filter(({ key }) => !writes.has(key));
    const added = [...writes].flatMap(([key, write]) =>
      write !== undefined && belongs(write.value, key) ? [{ key, value: write.value }] : [],
    );
    return added.length === 0 ? kept : [...kept, ...added].sort((a, b) => (a.key < b.key ? -1 : 1));
  }
}
