import type { Input } from "../inputs/input.js";
import { memosBelow, type Node } from "../records/decision-tree.js";
import { evicted, isUsed, Memo, superseded, type Dependency, type GraphNode } from "../records/memo.js";
import type { Question } from "../records/question.js";
import { ExpiryQueue } from "./expiry-queue.js";
import { RootQueue } from "./root-queue.js";

const none: readonly never[] = [];

/**
 * Unused records, and results that views called but do not follow, until they are dropped: see `collect`.
 */
export class UnusedRecords {
  readonly roots = new RootQueue();
  readonly memos = new ExpiryQueue<Memo>(isUsed);
  readonly questions = new ExpiryQueue<Question>((question) => question.paths > 0);
  /** Expired questions that wait to be dropped together. */
  expiredQuestions: Question[] = [];
  /**
   * Memos whose time has come, until they are dropped: those that were expired, and those that only dropped memos used.
   * One that is used again in the meantime is kept.
   */
  due: Memo[] = [];
  /** The work of the engine until the last collection: see `Counters`. */
  collectedWork = 0;
  #superseded: Memo[] = [];
  #inputs: Input[] = [];

  /** Adds a memo if it is unused since `revision`. */
  addMemo(memo: Memo, revision: number): void {
    if (isUsed(memo)) return;
    if (memo.standing === superseded) this.#superseded.push(memo);
    else if (memo.standing !== evicted) this.memos.add(memo, revision);
  }

  /** Adds the unused memos of a superseded tree. */
  addSuperseded(tree: Node): void {
    for (const memo of memosBelow(tree)) if (!isUsed(memo)) this.#superseded.push(memo);
  }

  /**
   * Adds a node that has lost its last dependent. Inputs are kept until the next commit, because an active computation
   * may have read them.
   */
  addNode(node: GraphNode, revision: number): void {
    if (!(node instanceof Memo)) this.#inputs.push(node as Input);
    else if (node.client === null) this.addMemo(node, revision);
  }

  /** Adds the dependencies of a computation that ended without a memo. */
  addDependencies(dependencies: readonly Dependency[], revision: number): void {
    for (const dependency of dependencies) {
      if (typeof dependency !== "number" && dependency.dependents === null) this.addNode(dependency, revision);
    }
  }

  /** Adds a question that no path asks since `revision`. */
  addQuestion(question: Question, revision: number): void {
    this.questions.add(question, revision);
  }

  takeSuperseded(): readonly Memo[] {
    if (this.#superseded.length === 0) return none;
    const taken = this.#superseded;
    this.#superseded = [];
    return taken.filter((memo) => !isUsed(memo));
  }

  takeInputs(): readonly Input[] {
    if (this.#inputs.length === 0) return none;
    const taken = this.#inputs;
    this.#inputs = [];
    return taken.filter((input) => input.dependents === null);
  }

  takeExpiredQuestions(): readonly Question[] {
    const taken = this.expiredQuestions;
    this.expiredQuestions = [];
    return taken;
  }

  clear(): void {
    this.roots.clear();
    this.memos.clear();
    this.questions.clear();
    this.due = [];
    this.#superseded = [];
    this.#inputs = [];
    this.expiredQuestions = [];
  }
}
