import type { Input } from "../inputs/input.js";
import { Memo, stale, unverified, valid, type Dependents, type Validity } from "../records/memo.js";

/**
 * Invalidates the dependents of changed inputs: direct readers become stale, and transitive dependents become
 * unverified. Returns the memos that were valid. Takes time proportional to their number, because the dependents of
 * other memos are marked already.
 */
export function markChanged(changed: Iterable<Input>): readonly Memo[] {
  const marked: Memo[] = [];
  for (const input of changed) markDependents(input.dependents, stale, marked);
  for (let i = 0; i < marked.length; i++) markDependents((marked[i] as Memo).dependents, unverified, marked);
  return marked;
}

function markDependents(dependents: Dependents, validity: Validity, marked: Memo[]): void {
  if (dependents === null) return;
  if (dependents instanceof Memo) mark(dependents, validity, marked);
  else for (const memo of dependents) mark(memo, validity, marked);
}

function mark(memo: Memo, validity: Validity, marked: Memo[]): void {
  if (memo.validity === valid) marked.push(memo);
  if (memo.validity < validity) memo.validity = validity;
}
