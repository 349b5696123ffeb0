import type { QueryContext } from "../definitions/context.js";
import type { Admission, Collection, Index } from "../definitions/input.js";
import { CycleError, IncrementalError } from "../errors.js";
import { Input } from "../inputs/input.js";
import { valueOf } from "../inputs/inputs.js";
import { Call, type AnyQuery } from "../records/call.js";
import { Memo, valid } from "../records/memo.js";
import { noPath } from "../records/path.js";
import { Refusal, type AnyFact, type Question } from "../records/question.js";
import { sameKey } from "../values/key.js";
import { admittedValues } from "./admitted.js";
import { answerTo } from "./answer.js";
import { matches } from "./match.js";
import { Recording } from "./recording.js";
import { resolve } from "./resolve.js";

/** The context that a query or fact reads through while it runs. */
export class Frame extends Recording implements QueryContext {
  /** The admission that was asked last. One that was asked is not asked again while the frame runs: it would answer the same. */
  #asked: Admission | undefined;
  #admits: ((key: string) => boolean) | undefined;

  read(of: Collection<unknown> | Index<unknown>, key: string): never {
    this.#enter();
    const expected = this.expected;
    const input =
      expected instanceof Input && expected.key === key && expected.home.of === of && expected.kind === "item"
        ? expected
        : this.engine.inputs.item(of, key);
    this.note(input);
    const value = valueOf(input);
    return (of.admission === undefined ? value : this.#admitted(of, of.admission, key, value)) as never;
  }

  keys(of: Collection<unknown> | Index<unknown>): readonly string[] {
    this.#enter();
    const input = this.engine.inputs.keys(of);
    this.note(input);
    const keys = valueOf(input) as readonly string[];
    const admits = of.admission === undefined || keys.length === 0 ? undefined : this.#admission(of.admission);
    if (admits === undefined) return keys;
    return keys.filter(
      of.kind === "collection" ? admits : (name) => (this.read(of, name) as readonly unknown[]).length > 0,
    );
  }

  all(of: Collection<unknown>): never {
    this.#enter();
    const { inputs } = this.engine;
    const input = inputs.all(of);
    this.note(input);
    const values = valueOf(input) as readonly unknown[];
    const admits = of.admission === undefined || values.length === 0 ? undefined : this.#admission(of.admission);
    return (admits === undefined ? values : admittedValues(inputs.table(of).ordered(), admits, values)) as never;
  }

  call(query: AnyQuery, arg?: unknown): never {
    this.#enter();
    const engine = this.engine;
    const expected = this.expected;
    let memo: Memo;
    if (
      expected instanceof Memo &&
      expected.owner instanceof Call &&
      expected.owner.query === query &&
      sameArg(expected.owner, arg)
    ) {
      if (expected.validity === valid && matches(engine, this.client, expected.owner, expected.path)) {
        memo = expected;
        engine.hits++;
      } else memo = this.#resolve(expected.owner);
    } else memo = this.#resolve(engine.call(query, arg));
    this.note(memo);
    if (memo.path !== noPath) this.join(memo.path);
    if (memo.failed) throw this.#failure(memo.value);
    return memo.value as never;
  }

  ask(fact: AnyFact, arg?: unknown): never {
    this.#enter();
    const expected = this.expected;
    const questions = this.engine.questions;
    const last = typeof expected === "number" ? (questions.byId[expected] as Question) : undefined;
    const question =
      last !== undefined && last.fact === fact && sameKey(last.arg, arg) ? last : questions.question(fact, arg);
    const number = this.#answer(question);
    if (this.shared) this.noteQuestion(question.id, number);
    else this.noteAnswer(question.id);
    const answer = question.answer(number);
    if (answer instanceof Refusal) throw this.#failure(answer.error);
    return answer as never;
  }

  /** What of a value is admitted. Where there is nothing, nobody is asked. */
  #admitted(of: Collection<unknown> | Index<unknown>, admission: Admission, key: string, value: unknown): unknown {
    if (of.kind === "collection")
      return value === undefined || (this.#admission(admission)?.(key) ?? true) ? value : undefined;
    const values = value as readonly unknown[];
    const admits = values.length === 0 ? undefined : this.#admission(admission);
    return admits === undefined ? values : admittedValues(this.engine.inputs.index(of).entriesIn(key), admits, values);
  }

  #admission(admission: Admission): ((key: string) => boolean) | undefined {
    if (this.#asked !== admission) {
      this.#admits = admission(this);
      this.#asked = admission;
    }
    return this.#admits;
  }

  #enter(): void {
    if (this.engine.frame !== this) {
      throw new IncrementalError(
        "purity",
        `${this.owner.label}: its context was used after it returned, or from inside another query`,
      );
    }
    if (this.poison !== null) throw this.poison.error;
  }

  /** An error that reaches this point from a resolution, rather than as its result, is a cycle or a breakdown. */
  #resolve(call: Call): Memo {
    try {
      return resolve(this.engine, call);
    } catch (error) {
      if (this.poison === null) this.engine.broken = true;
      throw error;
    }
  }

  #answer(question: Question): number {
    const known = this.client.answers[question.id] as number;
    if (known > 0) return known;
    try {
      return answerTo(this.engine, this.client, question);
    } catch (error) {
      if (this.poison === null) this.engine.broken = true;
      throw error;
    }
  }

  #failure(error: unknown): unknown {
    if (error instanceof CycleError && error.cycle.includes(this.owner.label)) {
      this.poison ??= { error, head: this.engine.depth - 1, guessed: false };
    }
    return error;
  }
}

/** Whether a call is for this argument, as far as that can be told without asking the query for its name. */
function sameArg(call: Call, arg: unknown): boolean {
  return call.query.key === undefined ? sameKey(call.arg, arg) : call.arg === arg;
}
