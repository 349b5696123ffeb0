import type { Input } from "../inputs/input.js";
import { Memo, stale, suspect, valid, type Dependents, type Validity } from "../records/memo.js";
import type { Question } from "../records/question.js";

/**
 * Marks what may be affected by changed inputs: their readers as stale, whatever depends on those as suspect. Costs time proportional
 * to what is newly marked; what is not valid was marked with all that depends on it.
 */
export function markChanged(changed: Iterable<Input>): void {
  const marked: Memo[] = [];
  for (const input of changed) visit(input.dependents, stale, marked);
  for (let memo = marked.pop(); memo !== undefined; memo = marked.pop()) {
    if (memo.client !== null) memo.client.doubt((memo.owner as Question).id);
    visit(memo.dependents, suspect, marked);
  }
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
