import type { Engine } from "../evaluation/engine.js";
import type { Input } from "../inputs/input.js";
import { memosBelow, type Node } from "../records/decision-tree.js";
import { evicted, Memo, superseded, type Dependency } from "../records/memo.js";
import type { Question } from "../records/question.js";
import { evict } from "./evict.js";
import { Expiry } from "./expiry.js";
import { dropQuestions, forgetAnswers } from "./questions.js";
import { Roots } from "./roots.js";

/** Answers are looked through for unused ones when this many new ones were given, or as many as are kept. */
const answersBetweenSweeps = 4096;
/** Dropping a question costs a visit to every view, so some are dropped together. */
const questionsDroppedTogether = 64;

/** What becomes of records that nothing uses. */
export class Retention {
  readonly roots = new Roots();
  readonly #memos = new Expiry<Memo>();
  readonly #questions = new Expiry<Question>();
  #superseded: Memo[] = [];
  #unread: Input[] = [];
  #idle: Question[] = [];

  constructor(
    readonly keepRevisions: number,
    readonly keepUnused: number,
  ) {}

  /** No memo and no view uses the memo since `revision`. */
  unused(memo: Memo, revision: number): void {
    if (memo.standing === superseded) this.#superseded.push(memo);
    else if (memo.standing !== evicted) this.#memos.add(memo, revision);
  }

  /** A tree has lost its place. */
  superseded(tree: Node): void {
    for (const memo of memosBelow(tree)) if (!used(memo)) this.#superseded.push(memo);
  }

  /** No memo depends on the input. A computation under way may: nothing is done before the next commit. */
  unread(input: Input): void {
    this.#unread.push(input);
  }

  /** A computation ended without a memo. */
  abandon(engine: Engine, dependencies: readonly Dependency[]): void {
    for (const dependency of dependencies) {
      if (typeof dependency === "number" || dependency.dependents !== null) continue;
      if (!(dependency instanceof Memo)) this.unread(dependency);
      else if (dependency.client === null && !used(dependency)) this.unused(dependency, engine.revision);
    }
  }

  /** No path asks the question since `revision`. */
  idle(question: Question, revision: number): void {
    this.#questions.add(question, revision);
  }

  /** After a commit: drops what was not used for too long. */
  sweep(engine: Engine): void {
    this.#drop(engine, engine.revision - this.keepRevisions);
  }

  /** Drops what no view that was asked since the last commit uses. */
  evict(engine: Engine): void {
    this.#drop(engine, engine.revision, engine.revision - 1);
    dropQuestions(engine, this.#idle);
    forgetAnswers(engine);
    this.#idle = [];
  }

  /** After a view was released: drops what is not used, the oldest first, beyond as much as is kept. */
  limit(engine: Engine): void {
    for (const memo of this.#memos.takeBeyond(this.keepUnused, used)) evict(engine, memo);
  }

  clear(): void {
    this.roots.clear();
    this.#memos.clear();
    this.#questions.clear();
    this.#superseded = [];
    this.#idle = [];
    this.#unread = [];
  }

  #drop(engine: Engine, before: number, lastUse = before): void {
    for (let root = this.roots.oldest(lastUse); root !== null; root = this.roots.oldest(lastUse)) {
      root.client.dropRoot(root);
      if (!used(root.memo)) evict(engine, root.memo);
    }
    const lost = this.#superseded;
    this.#superseded = [];
    for (const memo of lost) if (!used(memo)) evict(engine, memo);
    for (const memo of this.#memos.take(before, engine.revision, used)) evict(engine, memo);
    for (const input of this.#unread) if (input.dependents === null) input.home.unused(input);
    this.#unread = [];
    for (const question of this.#questions.take(before, engine.revision, asked)) this.#idle.push(question);
    if (this.#idle.length >= questionsDroppedTogether) {
      dropQuestions(engine, this.#idle);
      this.#idle = [];
    }
    if (engine.newAnswers > answersBetweenSweeps + engine.questions.size) forgetAnswers(engine);
  }
}

function used(memo: Memo): boolean {
  return memo.dependents !== null || memo.holders !== null || memo.standing === evicted;
}

function asked(question: Question): boolean {
  return question.paths > 0;
}
