import type { Followed, View } from "../api.js";
import type { AnyQuery, Call } from "./call.js";
import type { AnsweringClient, Memo, MemoRoot } from "./memo.js";
import type { Path } from "./path.js";

/** The records of one client: its answers, and the results that it uses. */
export class Client implements AnsweringClient {
  /** Numbers of answers by question: 0 if unknown, negative if to be verified. */
  answers = new Int32Array(16);
  /** The memos of answers that were computed from inputs, by question. */
  readonly answerMemos = new Map<number, Memo>();
  readonly roots = new Map<Call, Root>();
  state: number;
  readonly #nextState: () => number;

  constructor(
    readonly view: View<unknown>,
    /** The client as facts receive it. */
    readonly value: unknown,
    nextState: () => number,
  ) {
    this.#nextState = nextState;
    this.state = nextState();
  }

  /** Invalidates an answer, because one of its inputs may have changed. */
  invalidateAnswer(question: number): void {
    const answer = this.answers[question];
    if (answer !== undefined && answer > 0) this.answers[question] = -answer;
    this.state = this.#nextState();
  }

  /** Marks an invalidated answer as valid, because none of its inputs changed. */
  revalidateAnswer(question: number): void {
    const answer = this.answers[question];
    if (answer !== undefined && answer < 0) this.answers[question] = -answer;
  }

  /** Yields the memos of the answers on a path that were computed from inputs. */
  *answersOn(path: Path): Generator<Memo> {
    for (let i = 0; i < path.steps.length; i += 2) {
      const memo = this.answerMemos.get(path.steps[i] as number);
      if (memo !== undefined) yield memo;
    }
  }

  /** Ensures space for the answer to a question. */
  reserve(question: number): void {
    if (question < this.answers.length) return;
    const answers = new Int32Array(Math.max(question + 1, this.answers.length * 2));
    answers.set(this.answers);
    this.answers = answers;
  }

  /** Drops a question's answer. Returns its memo. */
  dropAnswer(question: number): Memo | undefined {
    const memo = this.answerMemos.get(question);
    this.answerMemos.delete(question);
    if (question < this.answers.length) this.answers[question] = 0;
    return memo;
  }

  /** Drops all answers and roots. */
  reset(): void {
    this.answers.fill(0);
    this.answerMemos.clear();
    this.roots.clear();
    this.state = this.#nextState();
  }
}

/** The client of an answer's memo; null for memos of calls. */
export function clientOf(memo: Memo): Client | null {
  return memo.client as Client | null;
}

/** A memo that is a client's result. Roots keep memos and their dependencies from being dropped. */
export class Root implements Followed, MemoRoot {
  /** The state of the client's answers for which the memo was found. */
  state = 0;
  /** The revision in which the view last called it. */
  usedAt = 0;
  /** True if commits that may affect it report it. It is kept until it is unfollowed. */
  followed = false;
  /** The last revision that reported it as affected. */
  affectedAt = 0;
  /** Neighbors in a `RootQueue`. */
  older: Root | null = null;
  newer: Root | null = null;
  /** Neighbors among the roots of the same memo. */
  previousOfMemo: Root | null = null;
  nextOfMemo: Root | null = null;
  #memo: Memo;

  constructor(
    readonly client: Client,
    readonly call: Call,
    memo: Memo,
  ) {
    this.#memo = memo;
    this.#attach();
  }

  get memo(): Memo {
    return this.#memo;
  }

  get view(): View<unknown> {
    return this.client.view;
  }

  get query(): AnyQuery {
    return this.call.query;
  }

  get arg(): unknown {
    return this.call.arg;
  }

  /** Replaces the memo. Returns the previous one. */
  exchange(memo: Memo): Memo {
    const before = this.#memo;
    this.detach();
    this.#memo = memo;
    this.#attach();
    return before;
  }

  /** Removes it from the roots of its memo. */
  detach(): void {
    if (this.nextOfMemo !== null) this.nextOfMemo.previousOfMemo = this.previousOfMemo;
    if (this.previousOfMemo !== null) this.previousOfMemo.nextOfMemo = this.nextOfMemo;
    else this.#memo.roots = this.nextOfMemo;
    this.previousOfMemo = this.nextOfMemo = null;
  }

  #attach(): void {
    const first = firstRoot(this.#memo);
    this.nextOfMemo = first;
    if (first !== null) first.previousOfMemo = this;
    this.#memo.roots = this;
  }
}

/** The first of a memo's roots; others follow by `nextOfMemo`. */
export function firstRoot(memo: Memo): Root | null {
  return memo.roots as Root | null;
}
