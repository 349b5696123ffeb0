import type { AnyQuery, Call } from "../records/call.js";
import { Branch, memosBelow, type Node } from "../records/decision-tree.js";
import { FingerprintIndex } from "../records/fingerprint-index.js";
import type { Memo } from "../records/memo.js";
import { structurallyEqual } from "../values/equality.js";
import { fingerprint } from "../values/fingerprint.js";

/** Reports whether a new result equals the memo's. Returns false if the query's `equals` throws. */
export function equalsResult(query: AnyQuery, memo: Memo, value: unknown, failed: boolean): boolean {
  if (memo.failed !== failed) return false;
  if (Object.is(memo.value, value)) return true;
  if (failed || query.equals === structurallyEqual) return structurallyEqual(memo.value, value);
  try {
    return query.equals(memo.value as never, value as never);
  } catch {
    return false;
  }
}

/** Above this many memos of a call, comparing with each is slower than an index of fingerprints. */
const mostMemosCompared = 6;

/**
 * Replaces a memo's new value by the equal value of another class of clients, if there is one, so that classes with
 * equal results share them, and may merge without a change.
 */
export function shareEqualValue(call: Call, memo: Memo): void {
  removeFromIndex(call, memo);
  if (typeof memo.value !== "object" || memo.value === null) return;
  const alone = call.superseded === null && (call.tree === null || call.tree === memo);
  if (alone && call.fingerprints === null) return;
  if (call.fingerprints === null && call.memos > mostMemosCompared) call.fingerprints = indexOthers(call, memo);
  if (call.fingerprints === null) return searchTrees(call, memo);
  memo.fingerprint = fingerprintOf(call, memo, call.fingerprints.budget);
  if (memo.fingerprint === 0) return searchTrees(call, memo);
  while (
    !shareIndexed(call, call.fingerprints, memo) &&
    call.fingerprints.deepen((other, budget) => fingerprintOf(call, other, budget))
  ) {
    memo.fingerprint = fingerprintOf(call, memo, call.fingerprints.budget);
  }
  call.fingerprints.add(memo);
}

/** Above this many different values with the same fingerprint, deeper fingerprints cost less than comparisons. */
const mostCollisions = 3;

/** Returns false if the fingerprint has too many different values, none of which is equal. */
function shareIndexed(call: Call, index: FingerprintIndex, memo: Memo): boolean {
  let collisions = 0;
  let before: unknown;
  for (const other of index.get(memo.fingerprint)) {
    if (other === memo || (collisions > 0 && other.value === before)) continue;
    if (equalsResult(call.query, other, memo.value, memo.failed)) {
      memo.value = other.value;
      return true;
    }
    before = other.value;
    collisions++;
  }
  return collisions <= mostCollisions;
}

/** Adds a copy of a memo to the index of fingerprints. */
export function indexCopy(call: Call, copy: Memo, memo: Memo): void {
  if (call.fingerprints === null || typeof copy.value !== "object" || copy.value === null) return;
  copy.fingerprint = memo.fingerprint === 0 ? fingerprintOf(call, copy, call.fingerprints.budget) : memo.fingerprint;
  if (copy.fingerprint !== 0) call.fingerprints.add(copy);
}

/** Removes a memo from the index of fingerprints, before its value changes or it is dropped. */
export function removeFromIndex(call: Call, memo: Memo): void {
  if (memo.fingerprint !== 0) call.fingerprints?.delete(memo);
  memo.fingerprint = 0;
}

/**
 * Returns the fingerprint of a value; 0, meaning unknown, if the query or the value's class defines its own equality.
 */
function fingerprintOf(call: Call, memo: Memo, budget?: number): number {
  return memo.failed || call.query.equals === structurallyEqual ? fingerprint(memo.value, budget) : 0;
}

function indexOthers(call: Call, except: Memo): FingerprintIndex {
  const index = new FingerprintIndex();
  for (const tree of [call.tree, ...(call.superseded ?? [])]) {
    if (tree === null) continue;
    for (const memo of memosBelow(tree)) {
      if (memo === except || typeof memo.value !== "object" || memo.value === null) continue;
      if (memo.fingerprint === 0) memo.fingerprint = fingerprintOf(call, memo);
      if (memo.fingerprint !== 0) index.add(memo);
    }
  }
  return index;
}

/** Maximum number of comparisons. Beyond it, a duplicate object costs less than the search for an equal one. */
const mostComparisons = 32;

interface Search {
  readonly call: Call;
  readonly memo: Memo;
  comparisons: number;
}

function searchTrees(call: Call, memo: Memo): void {
  const search = { call, memo, comparisons: 0 };
  if (call.tree !== null && searchTree(search, call.tree)) return;
  for (const tree of call.superseded ?? []) if (searchTree(search, tree)) return;
}

function searchTree(search: Search, node: Node): boolean {
  if (node instanceof Branch) {
    for (const child of node.children()) if (searchTree(search, child)) return true;
    return false;
  }
  const { call, memo } = search;
  if (node === memo || node.failed !== memo.failed || search.comparisons === mostComparisons) return false;
  search.comparisons++;
  if (!equalsResult(call.query, node, memo.value, memo.failed)) return false;
  memo.value = node.value;
  return true;
}
