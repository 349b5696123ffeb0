import { Memo, type GraphNode } from "./memo.js";

/** Above this, a list to be removed from is slower to search than a set; lists that only grow stay lists. */
const longestSearchedList = 24;
/**
 * From this length on, lists are grown by `push`, which reserves several times the space. Most lists have one to four
 * members.
 */
const shortestGrownList = 8;

/** Adds a memo that does not depend on the node yet. */
export function addDependent(node: GraphNode, memo: Memo): void {
  const before = node.dependents;
  if (before === null) node.dependents = memo;
  else if (Array.isArray(before)) {
    const count = before.length;
    if (count >= shortestGrownList) before.push(memo);
    else if (count === 2) node.dependents = [before[0] as Memo, before[1] as Memo, memo];
    else if (count === 3) node.dependents = [before[0] as Memo, before[1] as Memo, before[2] as Memo, memo];
    else node.dependents = [...before, memo];
  } else if (before instanceof Memo) node.dependents = [before, memo];
  else before.add(memo);
}

/** Removes a memo, and reports whether the node has no dependents left. */
export function removeDependent(node: GraphNode, memo: Memo): boolean {
  const before = node.dependents;
  if (before === memo) node.dependents = null;
  else if (before instanceof Set) removeFromSet(node, before, memo);
  else if (Array.isArray(before)) {
    if (before.length > longestSearchedList) removeFromSet(node, (node.dependents = new Set(before)), memo);
    else removeFromList(node, before, memo);
  }
  return node.dependents === null;
}

function removeFromSet(node: GraphNode, set: Set<Memo>, memo: Memo): void {
  set.delete(memo);
  if (set.size <= longestSearchedList / 2) node.dependents = [...set];
}

function removeFromList(node: GraphNode, list: Memo[], memo: Memo): void {
  const at = list.indexOf(memo);
  if (at < 0) return;
  const last = list.pop() as Memo;
  if (at < list.length) list[at] = last;
  if (list.length === 1) node.dependents = list[0] as Memo;
}
