import type { View } from "./api.js";
import { IncrementalError } from "./errors.js";
import { answerTo, dropAnswer } from "./evaluation/answer.js";
import type { Engine } from "./evaluation/engine.js";
import { resolve } from "./evaluation/resolve.js";
import { explain } from "./explain.js";
import type { Explanation } from "./explanation.js";
import type { AnyQuery, Call } from "./records/call.js";
import { valid, type Memo } from "./records/memo.js";
import type { Path } from "./records/path.js";
import type { Question } from "./records/question.js";
import { Root } from "./retention/roots.js";

/** What is kept for one client: its answers, and the results that it was asked for. */
export class ClientView<C> implements View<C> {
  /** By question: the number of the answer; 0 where it is not known, negative where it must be verified. */
  answers = new Int32Array(16);
  /** The answers that were made from inputs, by question. */
  readonly answerMemos = new Map<number, Memo>();
  /** Changes whenever an answer comes into doubt. */
  state: number;
  readonly #engine: Engine;
  readonly #roots = new Map<Call, Root>();
  #released = false;

  constructor(
    engine: Engine,
    readonly client: C,
  ) {
    this.#engine = engine;
    this.state = ++engine.states;
    engine.clients.add(this);
  }

  call(query: AnyQuery, arg?: unknown): never {
    const memo = this.#memo(query, arg);
    if (memo.failed) throw memo.value;
    return memo.value as never;
  }

  follow(query: AnyQuery, arg?: unknown): never {
    const root = this.#root(query, arg);
    if (!root.followed) {
      root.followed = true;
      this.#engine.followed++;
      this.#engine.retention.roots.remove(root);
    }
    if (root.memo.failed) throw root.memo.value;
    return root.memo.value as never;
  }

  unfollow(query: AnyQuery, arg?: unknown): void {
    const engine = this.#engine;
    if (engine.client !== null || engine.committing) this.#refuseInside("unfollow");
    const call = engine.call(query, arg);
    if (call.memos === 0) call.home.drop(call);
    const root = this.#roots.get(call);
    if (root?.followed !== true) return;
    root.followed = false;
    engine.followed--;
    engine.retention.roots.use(root, engine.revision);
  }

  explain(query: AnyQuery, arg?: unknown): Explanation {
    return explain(this.#engine, this as ClientView<unknown>, this.#memo(query, arg));
  }

  release(): void {
    if (this.#released) return;
    this.#refuseInside("release");
    const { clients, retention, revision } = this.#engine;
    this.#released = true;
    clients.delete(this);
    for (const root of [...this.#roots.values()]) {
      this.dropRoot(root);
      if (root.memo.holders === null && root.memo.dependents === null) retention.unused(root.memo, revision);
    }
    for (const memo of this.answerMemos.values()) dropAnswer(this.#engine, memo);
    this.answerMemos.clear();
    retention.limit(this.#engine);
  }

  /** The record of a call, made if there is none; not held. */
  record(query: AnyQuery, arg: unknown): Memo {
    const engine = this.#engine;
    if (this.#released) throw new IncrementalError("released", `${query.name}: the view was released`);
    const memo = this.#pull(engine.call(query, arg));
    if (memo.holders === null && memo.dependents === null) engine.retention.unused(memo, engine.revision);
    return memo;
  }

  /** The client's answer to a question; a `Refusal` where the fact throws. */
  answerTo(question: Question): unknown {
    const engine = this.#engine;
    this.reach(engine.questions.byId.length);
    engine.client = this as ClientView<unknown>;
    try {
      return question.answer(answerTo(engine, this as ClientView<unknown>, question));
    } finally {
      engine.client = null;
    }
  }

  /** The results that it was asked for, as far as they are held. */
  roots(): Iterable<Root> {
    return this.#roots.values();
  }

  /** Lets go of a result. */
  dropRoot(root: Root): void {
    this.#roots.delete(root.call);
    if (root.followed) this.#engine.followed--;
    this.#engine.retention.roots.remove(root);
    root.letGo();
  }

  /** An input of an answer may have changed. */
  doubt(question: number): void {
    const answer = this.answers[question];
    if (answer !== undefined && answer > 0) this.answers[question] = -answer;
    this.state = ++this.#engine.states;
  }

  /** Nothing of what an answer in doubt was made from has changed. */
  trust(question: number): void {
    const answer = this.answers[question];
    if (answer !== undefined && answer < 0) this.answers[question] = -answer;
  }

  /** The answers on a path that were made from inputs. */
  *answersOn(path: Path): Generator<Memo> {
    for (let i = 0; i < path.steps.length; i += 2) {
      const memo = this.answerMemos.get(path.steps[i] as number);
      if (memo !== undefined) yield memo;
    }
  }

  /** Makes room for the answer to a question. */
  reach(question: number): void {
    if (question < this.answers.length) return;
    const answers = new Int32Array(Math.max(question + 1, this.answers.length * 2));
    answers.set(this.answers);
    this.answers = answers;
  }

  /** Forgets all answers and results. What is followed is lost sight of, and told as such. */
  forget(): void {
    for (const root of this.roots()) if (root.followed) this.#engine.lost.push(root);
    this.answers.fill(0);
    this.answerMemos.clear();
    this.#roots.clear();
    this.state = ++this.#engine.states;
  }

  #memo(query: AnyQuery, arg: unknown): Memo {
    return this.#root(query, arg).memo;
  }

  #root(query: AnyQuery, arg: unknown): Root {
    const engine = this.#engine;
    if (this.#released) throw new IncrementalError("released", `${query.name}: the view was released`);
    if (engine.client !== null || engine.committing) this.#refuseInside(query.name);
    const call = engine.call(query, arg);
    let root = this.#roots.get(call);
    if (root === undefined) {
      this.#roots.set(call, (root = new Root(this as ClientView<unknown>, call, this.#pull(call))));
      root.state = this.state;
    } else if (root.state === this.state && root.memo.validity === valid) engine.hits++;
    else {
      const memo = this.#pull(call);
      root.state = this.state;
      if (memo !== root.memo) {
        const before = root.exchange(memo);
        if (before.holders === null && before.dependents === null) engine.retention.unused(before, engine.revision);
      }
    }
    if (!root.followed) engine.retention.roots.use(root, engine.revision);
    return root;
  }

  #pull(call: Call): Memo {
    const engine = this.#engine;
    this.reach(engine.questions.byId.length);
    engine.client = this as ClientView<unknown>;
    let done = false;
    try {
      const memo = resolve(engine, call);
      done = true;
      return memo;
    } finally {
      engine.client = null;
      if (!done) engine.forget();
    }
  }

  #refuseInside(what: string): void {
    const { client, committing, frame } = this.#engine;
    if (client !== null)
      throw new IncrementalError(
        "purity",
        `${what}: called on a view from inside ${frame?.owner.label ?? "a query"}; use its context`,
      );
    if (committing) throw new IncrementalError("purity", `${what}: called on a view from inside a commit`);
  }
}
