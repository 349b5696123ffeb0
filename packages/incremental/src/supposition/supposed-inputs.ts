import type { QueryContext } from "../definitions/context.js";
import type { Collection, Index } from "../definitions/input.js";
import { admittedValues } from "../evaluation/admitted.js";
import type { CollectionTable } from "../inputs/collection-table.js";
import type { IndexTable } from "../inputs/index-table.js";
import type { Input } from "../inputs/input.js";
import type { Inputs, Write, Writes } from "../inputs/inputs.js";

interface Entry {
  readonly key: string;
  readonly value: unknown;
}

/** A database's inputs as they would be after some writes, which are not made. */
export class SupposedInputs {
  readonly #writes = new Map<Collection<unknown>, Map<string, Write>>();
  /** Whether the set of keys, or of filled buckets, would be another. */
  readonly #keysDiffer = new Map<CollectionTable | IndexTable, boolean>();

  constructor(
    readonly inputs: Inputs,
    writes: Writes,
  ) {
    for (const [of, entries] of writes) for (const [key, write] of entries) this.#write(inputs.table(of), key, write);
  }

  /** Every input that there is and that would have another value, or may. */
  *changed(): Generator<Input> {
    for (const [of, writes] of this.#writes) {
      const table = this.inputs.table(of);
      yield table.all;
      if (this.#otherKeys(table)) yield table.keys;
      for (const index of table.indexes) if (this.#otherKeys(index)) yield index.keys;
      for (const [key, write] of writes) {
        const entry = table.entries.get(key);
        if (entry !== undefined) yield entry;
        for (const index of table.indexes) {
          for (const name of this.#buckets(index, key, write)) {
            const bucket = index.existing(name);
            if (bucket !== undefined) yield bucket;
          }
        }
      }
    }
  }

  /** Whether an input may have another value. It need not have existed when this was supposed. */
  differs({ home: { of }, kind, key }: Input): boolean {
    const writes = of === null ? undefined : this.#writes.get(of.kind === "index" ? of.collection : of);
    if (of === null || writes === undefined) return false;
    if (kind === "keys")
      return this.#otherKeys(of.kind === "collection" ? this.inputs.table(of) : this.inputs.index(of));
    if (kind !== "item") return true;
    if (of.kind === "collection") return writes.has(key);
    const index = this.inputs.index(of);
    return [...writes].some(([entry, write]) => this.#buckets(index, entry, write).has(key));
  }

  /** What a reader meets of an entry or a bucket. */
  read(of: Collection<unknown> | Index<unknown>, key: string, reader: QueryContext): unknown {
    if (of.kind === "index") return this.#admitted(of, this.#bucket(of, key), reader);
    const value = this.#value(of, key);
    return value === undefined || (of.admission?.(reader)?.(key) ?? true) ? value : undefined;
  }

  keys(of: Collection<unknown> | Index<unknown>, reader: QueryContext): readonly string[] {
    const admits = of.admission?.(reader);
    if (of.kind === "collection") {
      const keys = this.#entries(of).map(({ key }) => key);
      return admits === undefined ? keys : keys.filter(admits);
    }
    const index = this.inputs.index(of);
    const names = new Set(index.names());
    for (const [key, write] of this.#writes.get(of.collection) ?? [])
      for (const name of this.#buckets(index, key, write)) names.add(name);
    return [...names].filter((name) => this.#admitted(of, this.#bucket(of, name), reader).length > 0).sort();
  }

  all(of: Collection<unknown>, reader: QueryContext): readonly unknown[] {
    return this.#admitted(of, this.#entries(of), reader);
  }

  #value(of: Collection<unknown>, key: string): unknown {
    const writes = this.#writes.get(of);
    return writes?.has(key) === true ? writes.get(key)?.value : this.inputs.table(of).entries.get(key)?.value;
  }

  #admitted(
    { admission }: Collection<unknown> | Index<unknown>,
    entries: readonly Entry[],
    reader: QueryContext,
  ): readonly unknown[] {
    const values = entries.map(({ value }) => value);
    const admits = values.length === 0 ? undefined : admission?.(reader);
    return admits === undefined ? values : admittedValues(entries, admits, values);
  }

  #write(table: CollectionTable, key: string, write: Write): void {
    const entry = table.entries.get(key);
    const before = entry?.present === true ? { value: entry.value } : undefined;
    if (before === undefined ? write === undefined : write !== undefined && table.of.equals(before.value, write.value))
      return;
    const writes = this.#writes.get(table.of) ?? new Map<string, Write>();
    this.#writes.set(table.of, writes.set(key, write));
  }

  #otherKeys(table: CollectionTable | IndexTable): boolean {
    let differ = this.#keysDiffer.get(table);
    if (differ === undefined)
      this.#keysDiffer.set(
        table,
        (differ = "entries" in table ? this.#otherEntries(table) : this.#otherBuckets(table)),
      );
    return differ;
  }

  #otherEntries(table: CollectionTable): boolean {
    const writes = this.#writes.get(table.of) ?? [];
    return [...writes].some(([key, write]) => (table.entries.get(key)?.present === true) !== (write !== undefined));
  }

  #otherBuckets(index: IndexTable): boolean {
    for (const [key, write] of this.#writes.get(index.of.collection) ?? []) {
      for (const name of this.#buckets(index, key, write)) {
        if (index.entriesIn(name).length > 0 !== this.#bucket(index.of, name).length > 0) return true;
      }
    }
    return false;
  }

  /** The buckets that an entry is in or would be in. */
  #buckets(index: IndexTable, key: string, write: Write): ReadonlySet<string> {
    const entry = index.table.entries.get(key);
    const before = entry?.present === true ? index.bucketsOf(entry.value, key) : [];
    return new Set([...before, ...(write === undefined ? [] : index.bucketsOf(write.value, key))]);
  }

  #entries(of: Collection<unknown>): readonly Entry[] {
    return this.#edited(this.inputs.table(of).ordered(), of, () => true);
  }

  #bucket(of: Index<unknown>, name: string): readonly Entry[] {
    const index = this.inputs.index(of);
    return this.#edited(index.entriesIn(name), of.collection, (value, key) => index.bucketsOf(value, key).has(name));
  }

  #edited(
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
