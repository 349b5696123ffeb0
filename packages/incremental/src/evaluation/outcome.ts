import type { AnyQuery, Call } from "../records/call.js";
import { Branch, memosBelow, type Node } from "../records/decision-tree.js";
import type { Memo } from "../records/memo.js";
import { Prints } from "../records/prints.js";
import { structurallyEqual } from "../values/equality.js";
import { fingerprint } from "../values/fingerprint.js";

/** Whether a new outcome is the memo's own. An `equals` of the query that throws says no. */
export function sameOutcome(query: AnyQuery, memo: Memo, value: unknown, failed: boolean): boolean {
  if (memo.failed !== failed) return false;
  if (Object.is(memo.value, value)) return true;
  if (failed || query.equals === structurallyEqual) return structurallyEqual(memo.value, value);
  try {
    return query.equals(memo.value as never, value as never);
  } catch {
    return false;
  }
}

/** Above this many memos of a call, looking at each for an equal value is slower than a map of fingerprints. */
const fewMemos = 6;

/**
 * Gives a memo whose value is new the equal value of another class of clients, if there is one, so that classes that do not differ in
 * a result share it and may merge without anyone seeing a change.
 */
export function share(call: Call, memo: Memo): void {
  forgetPrint(call, memo);
  if (typeof memo.value !== "object" || memo.value === null) return;
  const alone = call.superseded === null && (call.tree === null || call.tree === memo);
  if (alone && call.prints === null) return;
  if (call.prints === null && call.memos > fewMemos) call.prints = printsOf(call, memo);
  if (call.prints === null) return search(call, memo);
  memo.fingerprint = printOf(call, memo, call.prints.budget);
  if (memo.fingerprint === 0) return search(call, memo);
  while (
    !sharePrinted(call, call.prints, memo) &&
    call.prints.lookFurther((other, budget) => printOf(call, other, budget))
  ) {
    memo.fingerprint = printOf(call, memo, call.prints.budget);
  }
  call.prints.add(memo);
}

/** More memos than these that look like another but are not equal to it are worth a further look at all. */
const differentLookAlikes = 3;

/** False where many look alike and none is equal. */
function sharePrinted(call: Call, prints: Prints, memo: Memo): boolean {
  let different = 0;
  let before: unknown;
  for (const other of prints.get(memo.fingerprint)) {
    if (other === memo || (different > 0 && other.value === before)) continue;
    if (sameOutcome(call.query, other, memo.value, memo.failed)) {
      memo.value = other.value;
      return true;
    }
    before = other.value;
    different++;
  }
  return different <= differentLookAlikes;
}

/** Lists a memo that has the value of another. */
export function notePrint(call: Call, memo: Memo, other: Memo): void {
  if (call.prints === null || typeof memo.value !== "object" || memo.value === null) return;
  memo.fingerprint = other.fingerprint === 0 ? printOf(call, memo, call.prints.budget) : other.fingerprint;
  if (memo.fingerprint !== 0) call.prints.add(memo);
}

/** The memo has, or is about to have, another value, or none. */
export function forgetPrint(call: Call, memo: Memo): void {
  if (memo.fingerprint !== 0) call.prints?.delete(memo);
  memo.fingerprint = 0;
}

/** 0 where the query, or a class of values, compares in its own way. */
function printOf(call: Call, memo: Memo, budget?: number): number {
  return memo.failed || call.query.equals === structurallyEqual ? fingerprint(memo.value, budget) : 0;
}

function printsOf(call: Call, except: Memo): Prints {
  const prints = new Prints();
  for (const tree of [call.tree, ...(call.superseded ?? [])]) {
    if (tree === null) continue;
    for (const memo of memosBelow(tree)) {
      if (memo === except || typeof memo.value !== "object" || memo.value === null) continue;
      if (memo.fingerprint === 0) memo.fingerprint = printOf(call, memo);
      if (memo.fingerprint !== 0) prints.add(memo);
    }
  }
  return prints;
}

/** Beyond this many memos that look alike, another object is cheaper than the search for an equal one. */
const comparisons = 32;

function search(call: Call, memo: Memo): void {
  const search = { call, memo, left: comparisons };
  if (call.tree !== null && seek(search, call.tree)) return;
  for (const tree of call.superseded ?? []) if (seek(search, tree)) return;
}

interface Search {
  readonly call: Call;
  readonly memo: Memo;
  left: number;
}

function seek(search: Search, node: Node): boolean {
  if (node instanceof Branch) {
    for (const child of node.children()) if (seek(search, child)) return true;
    return false;
  }
  const { call, memo } = search;
  if (node === memo || node.failed !== memo.failed || search.left === 0) return false;
  search.left--;
  if (!sameOutcome(call.query, node, memo.value, memo.failed)) return false;
  memo.value = node.value;
  return true;
}
