import type { QueryContext } from "../definitions/context.js";
import type { Collection, Index } from "../definitions/input.js";
import { CycleError, IncrementalError } from "../errors.js";
import { Input } from "../inputs/input.js";
import { valueOf } from "../inputs/inputs.js";
import type { ClientView } from "../client-view.js";
import { Call, type AnyQuery } from "../records/call.js";
import { Memo, nothing, valid, type Dependency } from "../records/memo.js";
import { noPath, type Path } from "../records/path.js";
import { Refusal, type AnyFact, type Question } from "../records/question.js";
import { structurallyEqual } from "../values/equality.js";
import { Activation } from "./activation.js";
import { answerTo } from "./answer.js";
import type { Engine, Seen } from "./engine.js";
import { matches } from "./match.js";
import { resolve } from "./resolve.js";

/**
 * A query or fact being run, and the context that it reads through. What it reads is compared, read by read, with what it read last
 * time, or for another class of clients (`like`): a run that reads the same finds each record without looking it up, and has the same list.
 */
export class Frame extends Activation implements QueryContext {
  readonly #engine: Engine;
  readonly #client: ClientView<unknown>;
  readonly #id: number;
  /** Whether it runs a query. Facts have no path: they depend on other facts of their client directly. */
  readonly #shared: boolean;
  readonly #expected: readonly Dependency[];
  /** How many of the expected dependencies were met. */
  #met = 0;
  /** Whether nothing else was met. */
  #asExpected = true;
  readonly #notedBase: number;
  readonly #stepsBase: number;
  #seen: Seen | null = null;

  constructor(
    engine: Engine,
    override readonly owner: Call | Question,
    client: ClientView<unknown>,
    like: Memo | null,
  ) {
    super(owner);
    this.#engine = engine;
    this.#client = client;
    this.#id = ++engine.runs;
    this.#shared = owner instanceof Call;
    this.#expected = like === null ? nothing : like.dependencies;
    this.#notedBase = engine.notedTop;
    this.#stepsBase = engine.stepsTop;
  }

  read(of: Collection<unknown> | Index<unknown>, key: string): never {
    this.#enter();
    const expected = this.#expected[this.#met];
    const input =
      expected instanceof Input && expected.key === key && expected.home.of === of && expected.kind === "item"
        ? expected
        : this.#engine.inputs.item(of, key);
    this.#note(input);
    return valueOf(input) as never;
  }

  keys(of: Collection<unknown> | Index<unknown>): readonly string[] {
    this.#enter();
    const input = this.#engine.inputs.keys(of);
    this.#note(input);
    return valueOf(input) as readonly string[];
  }

  all(of: Collection<unknown>): never {
    this.#enter();
    const input = this.#engine.inputs.all(of);
    this.#note(input);
    return valueOf(input) as never;
  }

  call(query: AnyQuery, arg?: unknown): never {
    this.#enter();
    const engine = this.#engine;
    const expected = this.#expected[this.#met];
    let memo: Memo;
    if (expected instanceof Memo && expected.owner instanceof Call && expected.owner.query === query && sameArg(expected.owner, arg)) {
      if (expected.validity === valid && matches(engine, this.#client, expected.owner, expected.path)) {
        memo = expected;
        engine.hits++;
      } else memo = this.#resolve(expected.owner);
    } else memo = this.#resolve(engine.call(query, arg));
    this.#note(memo);
    if (memo.path !== noPath) this.#join(memo.path);
    if (memo.failed) throw this.#failure(memo.value);
    return memo.value as never;
  }

  ask(fact: AnyFact, arg?: unknown): never {
    this.#enter();
    const expected = this.#expected[this.#met];
    const questions = this.#engine.questions;
    const last = typeof expected === "number" ? (questions.byId[expected] as Question) : undefined;
    const question = last !== undefined && last.fact === fact && isSame(last.arg, arg) ? last : questions.question(fact, arg);
    const number = this.#answer(question);
    if (this.#shared) this.#noteQuestion(question.id, number);
    else this.#noteAnswer(question.id);
    const answer = question.answer(number);
    if (answer instanceof Refusal) throw this.#failure(answer.error);
    return answer as never;
  }

  /** Ends the recording: the dependencies, each once, in order of first reading. The list is the expected one where it is equal. */
  dependencies(): readonly Dependency[] {
    const engine = this.#engine;
    const expected = this.#expected;
    if (this.#asExpected) return this.#met === expected.length ? expected : expected.slice(0, this.#met);
    const noted = engine.noted;
    const base = this.#notedBase;
    let top = engine.notedTop;
    engine.notedTop = base;
    if (engine.runs !== this.#id) {
      const pass = ++engine.runs;
      let kept = base;
      for (let i = base; i < top; i++) {
        const dependency = noted[i] as Dependency;
        if (typeof dependency !== "number") {
          if (dependency.mark === pass) continue;
          dependency.mark = pass;
        }
        noted[kept++] = dependency;
      }
      top = kept;
    }
    if (top - base === expected.length) {
      let i = 0;
      while (i < expected.length && expected[i] === noted[base + i]) i++;
      if (i === expected.length) return expected;
    }
    return noted.slice(base, top);
  }

  /** Ends the recording of the path. */
  path(): Path {
    const engine = this.#engine;
    const top = engine.stepsTop;
    engine.stepsTop = this.#stepsBase;
    return engine.paths.intern(engine.steps, this.#stepsBase, top);
  }

  /** Takes over what a call read that failed because it is on a cycle with this one. */
  absorb(dependencies: readonly Dependency[]): void {
    for (const dependency of dependencies) {
      if (typeof dependency === "number") {
        if (this.#shared) this.#noteQuestion(dependency, this.#client.answers[dependency] as number);
        else this.#noteAnswer(dependency);
      } else {
        this.#note(dependency);
        if (dependency instanceof Memo) this.#join(dependency.path);
      }
    }
  }

  #enter(): void {
    if (this.#engine.frame !== this) {
      throw new IncrementalError("purity", `${this.owner.label}: its context was used after it returned, or from inside another query`);
    }
    if (this.poison !== null) throw this.poison.error;
  }

  /** An error that reaches this point from a resolution, rather than as its result, is a cycle or a breakdown. */
  #resolve(call: Call): Memo {
    try {
      return resolve(this.#engine, call);
    } catch (error) {
      if (this.poison === null) this.#engine.broken = true;
      throw error;
    }
  }

  #answer(question: Question): number {
    const known = this.#client.answers[question.id] as number;
    if (known > 0) return known;
    try {
      return answerTo(this.#engine, this.#client, question);
    } catch (error) {
      if (this.poison === null) this.#engine.broken = true;
      throw error;
    }
  }

  #failure(error: unknown): unknown {
    if (error instanceof CycleError && error.cycle.includes(this.owner.label)) {
      this.poison ??= { error, head: this.#engine.depth - 1, guessed: false };
    }
    return error;
  }

  #note(dependency: Input | Memo): void {
    if (dependency.mark === this.#id) return;
    dependency.mark = this.#id;
    this.#list(dependency);
  }

  #list(dependency: Dependency): void {
    const expected = this.#expected[this.#met];
    if (expected === dependency) {
      this.#met++;
      if (this.#asExpected) return;
    } else {
      if (this.#asExpected) this.#depart();
      if (this.#expected[this.#met + 1] === dependency) this.#met += 2;
      else if (expected instanceof Memo && dependency instanceof Memo && expected.owner === dependency.owner) this.#met++;
    }
    this.#engine.noted[this.#engine.notedTop++] = dependency;
  }

  #depart(): void {
    this.#asExpected = false;
    for (let i = 0; i < this.#met; i++) this.#engine.noted[this.#engine.notedTop++] = this.#expected[i] as Dependency;
  }

  /** A question is listed as the query's own even where a call asked it before: that call may ask something else after a change. */
  #noteQuestion(id: number, answer: number): void {
    const seen = this.#marks(id);
    const mark = seen.marks[id] as number;
    if (mark > seen.last) return;
    if (mark < seen.last) this.#step(id, answer);
    seen.marks[id] = seen.last + 1;
    this.#list(id);
  }

  #noteAnswer(id: number): void {
    const memo = this.#client.answerMemos.get(id);
    if (memo !== undefined) this.#note(memo);
  }

  #join(path: Path): void {
    if (path.mark === this.#id) return;
    path.mark = this.#id;
    const steps = path.steps;
    for (let i = 0; i < steps.length; i += 2) {
      const id = steps[i] as number;
      if (!this.#shared) {
        this.#noteAnswer(id);
        continue;
      }
      const seen = this.#marks(id);
      if ((seen.marks[id] as number) >= seen.last) continue;
      seen.marks[id] = seen.last;
      this.#step(id, steps[i + 1] as number);
    }
  }

  #step(id: number, answer: number): void {
    const engine = this.#engine;
    engine.steps[engine.stepsTop++] = id;
    engine.steps[engine.stepsTop++] = answer;
  }

  #marks(id: number): Seen {
    this.#seen ??= this.#engine.seen(this.#engine.depth - 1);
    if (id >= this.#seen.marks.length) {
      const longer = new Int32Array(id * 2);
      longer.set(this.#seen.marks);
      this.#seen.marks = longer;
    }
    return this.#seen;
  }
}

/** Whether a call is for this argument, as far as that can be told faster than by making its key. */
function sameArg(call: Call, arg: unknown): boolean {
  return call.arg === arg || (call.query.key === undefined && isSame(call.arg, arg));
}

function isSame(known: unknown, arg: unknown): boolean {
  return known === arg || (typeof known === "object" && structurallyEqual(known, arg));
}
