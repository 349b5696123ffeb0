import type { Index } from "../definitions/input.js";
import { IncrementalError } from "../errors.js";
import { change, type CollectionTable } from "./collection-table.js";
import { Input, type Home } from "./input.js";
import { OrderedInputs } from "./ordered-inputs.js";

interface Bucket {
  readonly input: Input;
  readonly members: OrderedInputs;
}

/** The buckets of one index in one database. A bucket that is empty exists only while something depends on it. */
export class IndexTable implements Home {
  readonly keys: Input;
  readonly #buckets = new Map<string, Bucket>();
  readonly #filled = new OrderedInputs();
  /** Buckets whose first or last member was added or removed by the commit under way, and whether they were filled before it. */
  readonly #turned = new Map<Bucket, boolean>();

  constructor(
    readonly of: Index<unknown>,
    readonly table: CollectionTable,
  ) {
    this.keys = new Input(this, "keys", "");
    for (const entry of table.entries.values()) {
      if (!entry.present) continue;
      for (const name of this.bucketsOf(entry.value, entry.key)) this.#bucket(name).members.add(entry);
    }
    for (const bucket of this.#buckets.values()) this.#filled.add(bucket.input);
  }

  bucket(name: string): Input {
    return this.#bucket(name).input;
  }

  /** The bucket, if it holds or held anything that somebody read. */
  existing(name: string): Input | undefined {
    return this.#buckets.get(name)?.input;
  }

  /** What a bucket holds, without making it an input. */
  peek(name: string): readonly unknown[] {
    return this.entriesIn(name).map((entry) => entry.value);
  }

  /** The entries in a bucket, without making it an input. */
  entriesIn(name: string): readonly Input[] {
    return this.#buckets.get(name)?.members.list() ?? [];
  }

  /** The keys of the entries that a bucket holds, sorted. */
  members(name: string): readonly string[] {
    return (
      this.#buckets
        .get(name)
        ?.members.list()
        .map((entry) => entry.key) ?? []
    );
  }

  /** The buckets that are not empty, sorted. */
  names(): readonly string[] {
    return this.#filled.list().map((input) => input.key);
  }

  /** The index's function, run on an entry. Throws an `IncrementalError` with code `index` where it throws. */
  bucketsOf(value: unknown, key: string): ReadonlySet<string> {
    try {
      return new Set(this.of.buckets(value, key));
    } catch (cause) {
      throw new IncrementalError(
        "index",
        `${this.of.collection.name} ${key}: index ${this.of.name}: ${String(cause)}`,
        { cause },
      );
    }
  }

  /** Moves an entry whose value changed between buckets, and adds the buckets that changed by it. */
  move(
    entry: Input,
    before: ReadonlySet<string>,
    after: ReadonlySet<string>,
    revision: number,
    changed: Set<Input>,
  ): void {
    for (const name of before) {
      if (after.has(name)) continue;
      const bucket = this.#touch(name, revision, changed);
      if (bucket.members.size === 1 && !this.#turned.has(bucket)) this.#turned.set(bucket, true);
      bucket.members.remove(entry);
    }
    for (const name of after) {
      const bucket = this.#touch(name, revision, changed);
      if (before.has(name)) continue;
      if (bucket.members.size === 0 && !this.#turned.has(bucket)) this.#turned.set(bucket, false);
      bucket.members.add(entry);
    }
  }

  /** After the last move of a commit: finds whether the set of filled buckets changed. */
  settle(revision: number, changed: Set<Input>): void {
    for (const [bucket, filled] of this.#turned) {
      const empty = bucket.members.size === 0;
      if (empty === filled) {
        if (empty) this.#filled.remove(bucket.input);
        else this.#filled.add(bucket.input);
        changed.add(change(this.keys, revision));
      }
      if (empty && bucket.input.dependents === null) this.#buckets.delete(bucket.input.key);
    }
    this.#turned.clear();
  }

  refresh(input: Input): unknown {
    return (input.value = input.kind === "keys" ? this.names() : this.peek(input.key));
  }

  /** Forgets who depends on the buckets. */
  detach(): void {
    this.keys.dependents = null;
    for (const [name, bucket] of this.#buckets) {
      bucket.input.dependents = null;
      if (bucket.members.size === 0) this.#buckets.delete(name);
    }
  }

  unused(input: Input): void {
    const bucket = this.#buckets.get(input.key);
    if (bucket?.input === input && bucket.members.size === 0) this.#buckets.delete(input.key);
  }

  #touch(name: string, revision: number, changed: Set<Input>): Bucket {
    const bucket = this.#bucket(name);
    changed.add(change(bucket.input, revision));
    return bucket;
  }

  #bucket(name: string): Bucket {
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      this.#buckets.set(name, (bucket = { input: new Input(this, "item", name), members: new OrderedInputs() }));
    }
    return bucket;
  }
}
