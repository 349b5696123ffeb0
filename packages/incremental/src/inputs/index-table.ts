import type { Index } from "../definitions/context.js";
import type { IndexFailure } from "../api.js";
import { isOutOfStack } from "../evaluation/stack-overflow.js";
import { Input, type InputTable } from "./input.js";
import { OrderedInputs } from "./ordered-inputs.js";

interface Bucket {
  readonly input: Input;
  readonly members: OrderedInputs;
  /** The keys of the entries; absent until they are read. */
  keys?: Input;
}

/** The names of an entry's buckets; the error if the index's function throws, for an entry that is in none. */
export interface Placement {
  readonly buckets: ReadonlySet<string>;
  readonly error?: unknown;
}

const noBuckets: ReadonlySet<string> = new Set();
export const nowhere: Placement = { buckets: noBuckets };

/**
 * The buckets of one index in one database. An empty bucket exists only while something depends on it. An entry for
 * which the index's function throws is in no bucket.
 */
export class IndexTable implements InputTable {
  readonly keys: Input;
  readonly #buckets = new Map<string, Bucket>();
  /** The buckets with members; undefined until their names are read. */
  #nonEmpty: OrderedInputs | undefined;
  /** Buckets whose first or last member the current commit added or removed, and whether they had members before it. */
  readonly #touchedEnds = new Map<Bucket, boolean>();
  /** The errors of entries for which the index's function throws, by key. */
  readonly #failures = new Map<string, unknown>();

  constructor(
    readonly of: Index<unknown>,
    entries: Iterable<Input>,
    readonly onFailure: (failure: IndexFailure) => void,
  ) {
    this.keys = new Input(this, "keys", "");
    for (const entry of entries) if (entry.present) this.insert(entry);
  }

  /** Adds an entry to its buckets before the table is in use. */
  insert(entry: Input): void {
    const placement = this.place(entry.value, entry.key);
    // The stack that is left depends on the query that reads the index first.
    if (isOutOfStack(placement.error)) throw placement.error;
    this.insertInto(entry, placement.buckets);
    if ("error" in placement) this.#record(entry.key, placement);
  }

  /** Adds an entry to buckets before the table is in use. */
  insertInto(entry: Input, buckets: Iterable<string>): void {
    for (const name of buckets) this.#bucket(name).members.add(entry);
  }

  /** Removes an entry from buckets before the table is in use. */
  withdraw(entry: Input, buckets: Iterable<string>): void {
    for (const name of buckets) {
      const { members } = this.#bucket(name);
      members.remove(entry);
      if (members.size === 0) this.#buckets.delete(name);
    }
  }

  /** Returns the input of a bucket, adding it if there is none. */
  bucket(name: string): Input {
    return this.#bucket(name).input;
  }

  /** Returns the input of the keys of a bucket's entries, adding it if there is none. */
  bucketKeys(name: string): Input {
    const bucket = this.#bucket(name);
    return (bucket.keys ??= new Input(this, "members", name));
  }

  /** Returns the input of the keys of a bucket's entries if there is one. */
  existingKeys(name: string): Input | undefined {
    return this.#buckets.get(name)?.keys;
  }

  /** Returns the input of a bucket if there is one. */
  existing(name: string): Input | undefined {
    return this.#buckets.get(name)?.input;
  }

  /** Returns the values of a bucket without adding an input. */
  peek(name: string): readonly unknown[] {
    return this.entriesIn(name).map((entry) => entry.value);
  }

  /** Returns the entries of a bucket without adding an input. */
  entriesIn(name: string): readonly Input[] {
    return this.#buckets.get(name)?.members.list() ?? [];
  }

  /** Returns the keys of a bucket's entries, sorted. */
  members(name: string): readonly string[] {
    return (
      this.#buckets
        .get(name)
        ?.members.list()
        .map((entry) => entry.key) ?? []
    );
  }

  /** Returns the names of the non-empty buckets, sorted. */
  names(): readonly string[] {
    return this.#nonEmptyBuckets()
      .list()
      .map((input) => input.key);
  }

  /** Returns the buckets of a value, from the index's function. */
  place(value: unknown, key: string): Placement {
    try {
      const names = this.of.buckets(value, key);
      return Array.isArray(names) && names.length === 0 ? nowhere : { buckets: new Set(names) };
    } catch (error) {
      return { buckets: noBuckets, error };
    }
  }

  /** Returns the buckets that a present entry is in. */
  bucketsOf({ key, value }: Input): ReadonlySet<string> {
    return this.#failures.has(key) ? noBuckets : this.place(value, key).buckets;
  }

  /** Yields the entries for which the index's function throws. */
  *failures(): Generator<IndexFailure> {
    for (const [key, error] of this.#failures) yield { index: this.of, key, error };
  }

  /** Moves an entry whose value changed between buckets, and adds the buckets that change to `changed`. */
  move(entry: Input, before: ReadonlySet<string>, placement: Placement, revision: number, changed: Set<Input>): void {
    const after = placement.buckets;
    this.#record(entry.key, placement);
    for (const name of before) {
      if (after.has(name)) continue;
      const bucket = this.#touch(name, revision, changed);
      if (bucket.members.size === 1 && !this.#touchedEnds.has(bucket)) this.#touchedEnds.set(bucket, true);
      bucket.members.remove(entry);
      if (bucket.keys !== undefined) changed.add(bucket.keys.change(revision));
    }
    for (const name of after) {
      const bucket = this.#touch(name, revision, changed);
      if (before.has(name)) continue;
      if (bucket.members.size === 0 && !this.#touchedEnds.has(bucket)) this.#touchedEnds.set(bucket, false);
      bucket.members.add(entry);
      if (bucket.keys !== undefined) changed.add(bucket.keys.change(revision));
    }
  }

  /** Updates the set of non-empty buckets after the last move of a commit. */
  finishMoves(revision: number, changed: Set<Input>): void {
    for (const [bucket, hadMembers] of this.#touchedEnds) {
      const empty = bucket.members.size === 0;
      if (empty === hadMembers) {
        if (empty) this.#nonEmpty?.remove(bucket.input);
        else this.#nonEmpty?.add(bucket.input);
        changed.add(this.keys.change(revision));
      }
      if (empty && !isRead(bucket)) this.#buckets.delete(bucket.input.key);
    }
    this.#touchedEnds.clear();
  }

  refresh(input: Input): unknown {
    if (input.kind === "members") return (input.value = this.members(input.key));
    return (input.value = input.kind === "keys" ? this.names() : this.peek(input.key));
  }

  /** Drops all dependents. */
  detach(): void {
    this.keys.dependents = null;
    for (const [name, bucket] of this.#buckets) {
      bucket.input.dependents = null;
      delete bucket.keys;
      if (bucket.members.size === 0) this.#buckets.delete(name);
    }
  }

  dropUnused(input: Input): void {
    const bucket = this.#buckets.get(input.key);
    if (bucket === undefined || (bucket.input !== input && bucket.keys !== input)) return;
    if (bucket.keys === input) delete bucket.keys;
    if (bucket.members.size === 0 && !isRead(bucket)) this.#buckets.delete(input.key);
  }

  #record(key: string, placement: Placement): void {
    if (!("error" in placement)) {
      if (this.#failures.size > 0) this.#failures.delete(key);
      return;
    }
    this.#failures.set(key, placement.error);
    this.onFailure({ index: this.of, key, error: placement.error });
  }

  #nonEmptyBuckets(): OrderedInputs {
    return (this.#nonEmpty ??= OrderedInputs.of(
      [...this.#buckets.values()].filter(({ members }) => members.size > 0).map(({ input }) => input),
    ));
  }

  #touch(name: string, revision: number, changed: Set<Input>): Bucket {
    const bucket = this.#bucket(name);
    changed.add(bucket.input.change(revision));
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

function isRead({ input, keys }: Bucket): boolean {
  return input.dependents !== null || (keys !== undefined && keys.dependents !== null);
}
