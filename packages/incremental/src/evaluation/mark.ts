import type { Input } from "../inputs/input.js";
import { Memo, stale, suspect, valid, type Dependents, type Validity } from "../records/memo.js";

/**
 * Marks what may be affected by changed inputs: their readers as stale, whatever depends on those as suspect. Gives what is newly marked, and costs
 * time proportional to it; what is not valid was marked with all that depends on it.
 */
export function markChanged(changed: Iterable<Input>): readonly Memo[] {
  const marked: Memo[] = [];
  for (const input of changed) visit(input.dependents, stale, marked);
  for (let i = 0; i < marked.length; i++) visit((marked[i] as Memo).dependents, suspect, marked);
  return marked;
}

function visit(dependents: Dependents, validity: Validity, marked: Memo[]): void {
  if (dependents === null) return;
  if (dependents instanceof Memo) mark(dependents, validity, marked);
  else for (const memo of dependents) mark(memo, validity, marked);
}

function mark(memo: Memo, validity: Validity, marked: Memo[]): void {
  if (memo.validity === valid) marked.push(memo);
  if (memo.validity < validity) memo.validity = validity;
}
