import { current, evicted, Memo, superseded } from "./memo.js";

/**
 * A decision tree over the answers of clients, that leads to the memo of the client's class. Only questions that two
 * classes answered differently are branches (a PATRICIA trie), so the whole path is compared at the memo.
 */
export type Node = Branch | Memo;

/** The decision trees of a call. */
export interface DecisionTrees {
  tree: Node | null;
  /** Replaced trees, newest first: see `superseded` in memo.ts. */
  superseded: Node[] | null;
  /** Counts edits of the trees. */
  edits: number;
}

/** Above this many children, finding one in a list is slower than in a map. */
const longestChildList = 16;

export class Branch {
  #answers: number[] = [];
  #children: Node[] = [];
  #byAnswer: Map<number, Node> | undefined;

  constructor(
    readonly question: number,
    /** The position of the question in the paths of all memos below. */
    readonly at: number,
  ) {}

  child(answer: number): Node | undefined {
    if (this.#byAnswer !== undefined) return this.#byAnswer.get(answer);
    const answers = this.#answers;
    for (let i = 0; i < answers.length; i++) if (answers[i] === answer) return this.#children[i];
    return undefined;
  }

  set(answer: number, node: Node): void {
    if (this.#byAnswer !== undefined) {
      this.#byAnswer.set(answer, node);
      return;
    }
    const at = this.#answers.indexOf(answer);
    if (at >= 0) this.#children[at] = node;
    else {
      this.#answers.push(answer);
      this.#children.push(node);
      if (this.#answers.length > longestChildList) {
        this.#byAnswer = new Map(this.#answers.map((known, i) => [known, this.#children[i] as Node]));
        this.#answers = [];
        this.#children = [];
      }
    }
  }

  delete(answer: number): void {
    if (this.#byAnswer !== undefined) {
      this.#byAnswer.delete(answer);
      return;
    }
    const at = this.#answers.indexOf(answer);
    if (at < 0) return;
    this.#answers.splice(at, 1);
    this.#children.splice(at, 1);
  }

  get size(): number {
    return this.#byAnswer === undefined ? this.#children.length : this.#byAnswer.size;
  }

  /** An arbitrary child. */
  get first(): Node {
    return (this.#byAnswer === undefined ? this.#children[0] : this.#byAnswer.values().next().value) as Node;
  }

  children(): Iterable<Node> {
    return this.#byAnswer === undefined ? this.#children : this.#byAnswer.values();
  }
}

/** Returns an arbitrary memo of a tree. */
export function anyMemo(node: Node): Memo {
  while (node instanceof Branch) node = node.first;
  return node;
}

export function* memosBelow(node: Node): Generator<Memo> {
  if (node instanceof Memo) yield node;
  else for (const child of node.children()) yield* memosBelow(child);
}

/**
 * Inserts a memo into its call's tree. A subtree that asks another question at the same position, or one fewer or one
 * more, belongs to an earlier revision, because the inputs and the answers so far determine what a query asks next. It
 * is superseded, and returned.
 */
export function insertMemo(trees: DecisionTrees, memo: Memo): Node | null {
  trees.edits++;
  const steps = memo.path.steps;
  if (trees.tree === null) return place(trees, undefined, memo, memo);
  const others = nearest(trees.tree, steps).path.steps;
  const end = Math.max(steps.length, others.length);
  let at = 0;
  while (at < end && steps[at] === others[at] && steps[at + 1] === others[at + 1]) at += 2;
  let parent: Branch | undefined;
  let node = trees.tree;
  while (node instanceof Branch && node.at < at) {
    parent = node;
    node = node.child(steps[node.at + 1] as number) as Node;
  }
  if (at === end || steps[at] !== others[at]) return supersede(trees, parent, memo, node);
  if (node instanceof Branch && node.at === at) {
    node.set(steps[at + 1] as number, memo);
    return null;
  }
  const branch = new Branch(steps[at] as number, at);
  branch.set(others[at + 1] as number, node);
  branch.set(steps[at + 1] as number, memo);
  return place(trees, parent, memo, branch);
}

/** Returns a memo whose path has the longest prefix of the steps in the tree. */
function nearest(node: Node, steps: readonly number[]): Memo {
  while (node instanceof Branch) {
    node = (steps[node.at] === node.question ? node.child(steps[node.at + 1] as number) : undefined) ?? node.first;
  }
  return node;
}

function place(trees: DecisionTrees, parent: Branch | undefined, memo: Memo, node: Node): null {
  if (parent === undefined) trees.tree = node;
  else parent.set(memo.path.steps[parent.at + 1] as number, node);
  return null;
}

/** A view that missed this many changes of a query's questions recomputes instead of verifying. */
const supersededTreesKept = 4;

function supersede(trees: DecisionTrees, parent: Branch | undefined, memo: Memo, node: Node): Node {
  place(trees, parent, memo, memo);
  for (const other of memosBelow(node)) other.standing = superseded;
  trees.superseded = [node, ...(trees.superseded ?? [])].slice(0, supersededTreesKept);
  return node;
}

/** Removes a memo from its call's trees, and marks it as evicted. */
export function removeMemo(trees: DecisionTrees, memo: Memo): void {
  trees.edits++;
  if (memo.standing === current) trees.tree = without(trees.tree as Node, memo);
  else if (trees.superseded !== null) {
    const rest = trees.superseded.map((tree) => without(tree, memo)).filter((tree) => tree !== null);
    trees.superseded = rest.length === 0 ? null : rest;
  }
  memo.standing = evicted;
}

function without(root: Node, memo: Memo): Node | null {
  if (root === memo) return null;
  const steps = memo.path.steps;
  let grandparent: Branch | undefined;
  let parent: Branch | undefined;
  let node: Node | undefined = root;
  while (node instanceof Branch) {
    if (steps[node.at] !== node.question) return root;
    grandparent = parent;
    parent = node;
    node = node.child(steps[node.at + 1] as number);
  }
  if (node !== memo || parent === undefined) return root;
  parent.delete(steps[parent.at + 1] as number);
  if (parent.size > 1) return root;
  if (grandparent === undefined) return parent.first;
  grandparent.set(steps[grandparent.at + 1] as number, parent.first);
  return root;
}
