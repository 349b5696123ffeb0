import type { Input } from "../inputs/input.js";
import type { ClientView } from "../client-view.js";
import type { Root } from "../retention/roots.js";
import type { Call } from "./call.js";
import { noPath, type Path } from "./path.js";
import type { Question } from "./question.js";

/** What a memo was computed from, in order of first reading. A number is a question that the query itself asked. */
export type Dependency = Input | Memo | number;

/** The memos that read something: none, one, a few, or many. */
export type Dependents = null | Memo | Memo[] | Set<Memo>;

/** Valid at the current revision: so is all that it depends on. */
export const valid = 0;
/** Something that it depends on may have changed. */
export const suspect = 1;
/** Something that it read itself has changed. */
export const stale = 2;
export type Validity = typeof valid | typeof suspect | typeof stale;

/**
 * A result with the record of its computation: of a query's call for one class of clients, or of a question for one client (`client`
 * is set, and `value` is the number of the answer).
 */
export class Memo {
  value: unknown;
  /** Its small states together: see `failed`, `validity`, `standing` and `queued`. There are many memos. */
  #states = 0;
  /** The revision in which `value` last changed. */
  changedAt: number;
  /** The revision in which the record was last found to hold. */
  verifiedAt: number;
  dependencies: readonly Dependency[] = nothing;
  dependents: Dependents = null;
  path: Path = noPath;
  /** The first of the views' roots that hold it as their result: see `hold`. */
  holders: Root | null = null;
  /** The revision since which nothing uses it. */
  unusedSince = 0;
  /** 0 while not computed. */
  fingerprint = 0;
  /** The run that noted it last. */
  mark = 0;

  constructor(
    readonly owner: Call | Question,
    readonly client: ClientView<unknown> | null,
    value: unknown,
    revision: number,
  ) {
    this.value = value;
    this.changedAt = revision;
    this.verifiedAt = revision;
  }

  /** Whether `value` was thrown. */
  get failed(): boolean {
    return (this.#states & isFailed) !== 0;
  }
  set failed(failed: boolean) {
    this.#states = failed ? this.#states | isFailed : this.#states & ~isFailed;
  }

  get validity(): Validity {
    return (this.#states & validities) as Validity;
  }
  set validity(validity: Validity) {
    this.#states = (this.#states & ~validities) | validity;
  }

  get standing(): Standing {
    return ((this.#states & standings) >> standingAt) as Standing;
  }
  set standing(standing: Standing) {
    this.#states = (this.#states & ~standings) | (standing << standingAt);
  }

  /** Whether it waits in a queue to be dropped if it is still not used. */
  get queued(): boolean {
    return (this.#states & isQueued) !== 0;
  }
  set queued(queued: boolean) {
    this.#states = queued ? this.#states | isQueued : this.#states & ~isQueued;
  }
}

const validities = 0b11;
const standingAt = 2;
const standings = 0b11 << standingAt;
const isFailed = 1 << 4;
const isQueued = 1 << 5;

/** In its call's tree. */
export const current = 0;
/** Its place in the tree was taken; kept to be verified and moved for clients that have not yet come, and to keep equal results. */
export const superseded = 1;
/** Dropped from the records. */
export const evicted = 2;
export type Standing = typeof current | typeof superseded | typeof evicted;

export const nothing: readonly Dependency[] = [];

/** Above this, a list to be taken from is slower to search than a set; lists that only grow stay lists. */
const fewDependents = 24;
/** A list that has room to grow is several times as large as one of a few memos. Most have one to four. */
const dependentsWithoutRoom = 8;

/** Adds a memo that does not depend on it yet. */
export function addDependent(on: Input | Memo, memo: Memo): void {
  const before = on.dependents;
  if (before === null) on.dependents = memo;
  else if (Array.isArray(before)) {
    const count = before.length;
    if (count >= dependentsWithoutRoom) before.push(memo);
    else if (count === 2) on.dependents = [before[0] as Memo, before[1] as Memo, memo];
    else if (count === 3) on.dependents = [before[0] as Memo, before[1] as Memo, before[2] as Memo, memo];
    else on.dependents = [...before, memo];
  } else if (before instanceof Memo) on.dependents = [before, memo];
  else before.add(memo);
}

/** Whether nothing depends on it any more. */
export function removeDependent(on: Input | Memo, memo: Memo): boolean {
  const before = on.dependents;
  if (before === memo) on.dependents = null;
  else if (before instanceof Set) removeFromSet(on, before, memo);
  else if (Array.isArray(before)) {
    if (before.length > fewDependents) removeFromSet(on, (on.dependents = new Set(before)), memo);
    else removeFromList(on, before, memo);
  }
  return on.dependents === null;
}

function removeFromSet(on: Input | Memo, set: Set<Memo>, memo: Memo): void {
  set.delete(memo);
  if (set.size <= fewDependents / 2) on.dependents = [...set];
}

function removeFromList(on: Input | Memo, list: Memo[], memo: Memo): void {
  const at = list.indexOf(memo);
  if (at < 0) return;
  const last = list.pop() as Memo;
  if (at < list.length) list[at] = last;
  if (list.length === 1) on.dependents = list[0] as Memo;
}
