import type { AnyQuery, Call } from "../records/call.js";
import { Branch, type Node } from "../records/decision-tree.js";
import type { Memo } from "../records/memo.js";
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

/** Beyond this many memos that look alike, another object is cheaper than the search for an equal one. */
const comparisons = 32;

/**
 * The equal value of another class of clients, if there is one, so that classes that do not differ in a result share it and may merge
 * without anyone seeing a change.
 */
export function shared(call: Call, value: unknown, failed: boolean, except: Memo | null): unknown {
  if (typeof value !== "object" || value === null || (call.tree === except && call.superseded === null)) return value;
  const search: Search = { call, value, failed, except, print: hasPrint(call, failed) ? fingerprint(value) : 0, left: comparisons };
  if (call.tree !== null && seek(search, call.tree)) return search.value;
  for (const tree of call.superseded ?? []) if (seek(search, tree)) return search.value;
  return value;
}

interface Search {
  readonly call: Call;
  value: unknown;
  readonly failed: boolean;
  readonly except: Memo | null;
  /** 0 where the query compares in its own way. */
  readonly print: number;
  left: number;
}

function hasPrint(call: Call, failed: boolean): boolean {
  return failed || call.query.equals === structurallyEqual;
}

function seek(search: Search, node: Node): boolean {
  if (node instanceof Branch) {
    for (const child of node.children()) if (seek(search, child)) return true;
    return false;
  }
  if (node === search.except || node.failed !== search.failed || search.left === 0) return false;
  if (search.print !== 0) {
    if (node.fingerprint === 0) node.fingerprint = fingerprint(node.value);
    if (node.fingerprint !== search.print) return false;
  }
  search.left--;
  if (!sameOutcome(search.call.query, node, search.value, search.failed)) return false;
  search.value = node.value;
  return true;
}
