import type { Collection, Index } from "../definitions/context.js";
import { GraphNode } from "../records/memo.js";

/**
 * `item`: an entry of a collection or a bucket of an index; `members`: the keys of a bucket's entries; `keys`, `all`:
 * every key, every value; `revision`: changes with each commit.
 */
export type InputKind = "item" | "members" | "keys" | "all" | "revision";

/** The table of an input, which computes its value when it is first read after a change. */
export interface InputTable {
  readonly of: Collection<unknown> | Index<unknown> | null;
  refresh(input: Input): unknown;
  /** Drops an input without dependents if it is absent or empty. */
  dropUnused(input: Input): void;
}

/** The value of an input that changed and was not read since. */
export const notComputed: unique symbol = Symbol("notComputed");

/** The smallest unit that can be read and can change. */
export class Input extends GraphNode {
  value: unknown = notComputed;
  /** For an entry: whether the key is present. */
  present = false;

  constructor(
    readonly table: InputTable,
    readonly kind: InputKind,
    readonly key: string,
  ) {
    super(0);
  }

  /** Marks the input as changed. Returns it. */
  change(revision: number): Input {
    this.value = notComputed;
    this.changedAt = revision;
    return this;
  }
}

/** Returns the input's value, computing it if it changed since it was last read. */
export function valueOf(input: Input): unknown {
  return input.value === notComputed ? input.table.refresh(input) : input.value;
}
