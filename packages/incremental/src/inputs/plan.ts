import type { Collection } from "../definitions/context.js";
import type { CollectionTable } from "./collection-table.js";
import { type IndexTable, nowhere, type Placement } from "./index-table.js";
import type { Input } from "./input.js";

/** A value to set, or `undefined` to delete. */
export type Write = { readonly value: unknown } | undefined;
export type Writes = ReadonlyMap<Collection<unknown>, ReadonlyMap<string, Write>>;

/** A write that changes an entry, and the moves of the entry between the buckets of the table's indexes. */
export interface PlannedWrite {
  readonly table: CollectionTable;
  readonly key: string;
  readonly write: Write;
  /** In the order of the table's indexes. */
  readonly moves: readonly Move[];
}

interface Move {
  readonly index: IndexTable;
  readonly before: ReadonlySet<string>;
  readonly after: Placement;
}

/** The writes of a commit that change something. */
export type Plan = readonly PlannedWrite[];

const noBuckets: ReadonlySet<string> = new Set();

/** Plans the writes to one table. */
export function planWrites(table: CollectionTable, entries: ReadonlyMap<string, Write>): readonly PlannedWrite[] {
  const planned: PlannedWrite[] = [];
  for (const [key, write] of entries) {
    const entry = table.entries.get(key);
    const before = entry?.present === true ? { value: entry.value } : undefined;
    if (!changes(table, before, write)) continue;
    const moves = table.indexes.map((index) => moveBetween(index, key, entry, write));
    planned.push({ table, key, write, moves });
  }
  return planned;
}

/**
 * Adds the moves for indexes that were read for the first time after planning, as observers of the commit may.
 */
export function withAddedIndexes(plan: Plan): Plan {
  if (plan.every(({ table, moves }) => moves.length === table.indexes.length)) return plan;
  return plan.map((planned) => {
    const { table, key, write, moves } = planned;
    const entry = table.entries.get(key);
    const added = table.indexes.slice(moves.length).map((index) => moveBetween(index, key, entry, write));
    return { ...planned, moves: [...moves, ...added] };
  });
}

/** Reports whether a write changes an entry. An entry that cannot be compared is taken as changed. */
export function changes(table: CollectionTable, before: Write, write: Write): boolean {
  if (before === undefined || write === undefined) return before !== write;
  try {
    return !table.of.equals(before.value, write.value);
  } catch {
    return true;
  }
}

function moveBetween(index: IndexTable, key: string, entry: Input | undefined, after: Write): Move {
  return {
    index,
    before: entry?.present === true ? index.bucketsOf(entry) : noBuckets,
    after: after === undefined ? nowhere : index.place(after.value, key),
  };
}
