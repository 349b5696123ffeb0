import type { Collection, Index } from "../definitions/input.js";
import type { Dependents } from "../records/memo.js";

/** `item`: an entry of a collection or a bucket of an index; `keys`, `all`: every key, every value; `revision`: changes with each commit. */
export type InputKind = "item" | "keys" | "all" | "revision";

/** Where an input's value is made when it is read for the first time since it changed. */
export interface Home {
  readonly of: Collection<unknown> | Index<unknown> | null;
  refresh(input: Input): unknown;
  /** Nothing depends on the input any more. */
  unused(input: Input): void;
}

/** The value of an input that must be made again before it is read. */
export const unset: unique symbol = Symbol("unset");

/** The smallest thing that can be read and can change. */
export class Input {
  value: unknown = unset;
  /** For an entry: whether the key is present. */
  present = false;
  /** The revision of its last change; 0 where it never changed. */
  changedAt = 0;
  dependents: Dependents = null;
  /** The run that noted it last. */
  mark = 0;

  constructor(
    readonly home: Home,
    readonly kind: InputKind,
    readonly key: string,
  ) {}
}
