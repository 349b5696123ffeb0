import type { Input } from "../inputs/input.js";
import type { ClientView } from "../client-view.js";
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
  /** Whether `value` was thrown. */
  failed = false;
  validity: Validity = valid;
  /** The revision in which `value` last changed. */
  changedAt: number;
  /** The revision in which the record was last found to hold. */
  verifiedAt: number;
  dependencies: readonly Dependency[] = nothing;
  dependents: Dependents = null;
  path: Path = noPath;
  /** How many views hold it as the result of a call of their own. */
  holders = 0;
  /** The revision since which nothing uses it. */
  unusedSince = 0;
  /** Whether it waits in a queue to be dropped if it is still not used. */
  queued = false;
  /** See `Standing`. */
  standing: Standing = current;
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
}

/** In its call's tree. */
export const current = 0;
/** Its place in the tree was taken; kept to be verified and moved for clients that have not yet come, and to keep equal results. */
export const superseded = 1;
/** Dropped from the records. */
export const evicted = 2;
export type Standing = typeof current | typeof superseded | typeof evicted;

export const nothing: readonly Dependency[] = [];

/** Above this, membership in a list is slower to find than in a set. */
const fewDependents = 24;

export function addDependent(on: Input | Memo, memo: Memo): void {
  const before = on.dependents;
  if (before === null) on.dependents = memo;
  else if (before instanceof Memo) on.dependents = [before, memo];
  else if (before instanceof Set) before.add(memo);
  else if (before.length < fewDependents) before.push(memo);
  else on.dependents = new Set(before).add(memo);
}

/** Whether nothing depends on it any more. */
export function removeDependent(on: Input | Memo, memo: Memo): boolean {
  const before = on.dependents;
  if (before === memo) on.dependents = null;
  else if (before instanceof Set) {
    before.delete(memo);
    if (before.size <= fewDependents / 2) on.dependents = [...before];
  } else if (Array.isArray(before)) {
    const at = before.indexOf(memo);
    const last = before.pop() as Memo;
    if (at >= 0 && at < before.length) before[at] = last;
    else if (at < 0) before.push(last);
    if (before.length === 1) on.dependents = before[0] as Memo;
  }
  return on.dependents === null;
}

export function countDependents(of: Dependents): number {
  return of === null ? 0 : of instanceof Memo ? 1 : of instanceof Set ? of.size : of.length;
}
