import type { Supposition, View } from "../api.js";
import type { ClientView } from "../client-view.js";
import type { QueryContext } from "../definitions/context.js";
import type { Collection, Index } from "../definitions/input.js";
import { CycleError, IncrementalError } from "../errors.js";
import { refusePromise } from "../evaluation/resolve.js";
import type { Engine } from "../evaluation/engine.js";
import { Input } from "../inputs/input.js";
import type { Writes } from "../inputs/inputs.js";
import type { Call } from "../records/call.js";
import { type AnyQuery } from "../records/call.js";
import type { Memo } from "../records/memo.js";
import { Refusal, type AnyFact, type Question } from "../records/question.js";
import { structurallyEqual } from "../values/equality.js";
import { Reached } from "./reached.js";
import { SupposedInputs } from "./supposed-inputs.js";

interface Outcome {
  readonly value: unknown;
  readonly failed: boolean;
}

/** An outcome, for the clients who give these answers. */
interface Found extends Outcome {
  readonly answers: ReadonlyMap<Question, unknown>;
}

/**
 * What results would be after some writes. Records are followed from the inputs that would differ; only what they reach is looked at,
 * in the order of its reads, and run again only where a read would differ. The records themselves are left as they are.
 */
export class Supposed<C> implements Supposition<C> {
  readonly #inputs: SupposedInputs;
  readonly #reached: Reached;
  readonly #found = new Map<Memo, Found[]>();
  readonly #revision: number;
  readonly #work: number;

  constructor(
    readonly engine: Engine,
    writes: Writes,
  ) {
    this.#work = workOf(engine);
    this.#inputs = new SupposedInputs(engine.inputs, writes);
    this.#reached = new Reached(this.#inputs, engine.revision);
    this.#revision = engine.revision;
  }

  call(view: View<C>, query: AnyQuery, arg?: unknown): never {
    if (this.engine.revision !== this.#revision)
      throw new IncrementalError("released", `${query.name}: something was committed since it was supposed`);
    const { value, failed } = new Run(
      this.engine,
      view as ClientView<unknown>,
      this.#inputs,
      this.#reached,
      this.#found,
      this.#work,
    ).call(query, arg);
    if (failed) throw value;
    return value as never;
  }
}

/** Grows whenever records are made or renewed. */
function workOf({ recomputations, verifications, answers }: Engine): number {
  return recomputations + verifications + answers;
}

/** The calls of one client. */
class Run {
  readonly #active = new Set<Call>();
  readonly #answers = new Map<Question, unknown>();
  /** The answers that each call under way was given, the innermost last. */
  readonly #asking: Map<Question, unknown>[] = [];

  constructor(
    readonly engine: Engine,
    readonly client: ClientView<unknown>,
    readonly inputs: SupposedInputs,
    readonly reached: Reached,
    readonly found: Map<Memo, Found[]>,
    readonly workBefore: number,
  ) {}

  call(query: AnyQuery, arg: unknown): Outcome {
    const memo = this.client.record(query, arg);
    if (this.#renewed) this.reached.extend(memo, this.client);
    return this.#outcome(memo);
  }

  /**
   * Whether records were made or renewed since this was supposed, so that each that is met must be looked at: also those that are valid
   * now because they were renewed on the way to another, as answers are to find a memo.
   */
  get #renewed(): boolean {
    return workOf(this.engine) > this.workBefore;
  }

  #outcome(memo: Memo): Outcome {
    if (!this.reached.result(memo, this.client)) {
      this.#notePath(memo);
      return memo;
    }
    const known = this.found
      .get(memo)
      ?.find(({ answers }) =>
        [...answers].every(([question, answer]) => structurallyEqual(this.#answer(question), answer)),
      );
    if (known !== undefined) {
      for (const [question, answer] of known.answers) this.#asking.at(-1)?.set(question, answer);
      return known;
    }
    const call = memo.owner as Call;
    if (this.#active.has(call)) throw new CycleError([call.label]);
    this.#active.add(call);
    this.#asking.push(new Map());
    try {
      const outcome = this.#stands(memo) ? memo : this.#run(call, memo);
      const answers = this.#asking.at(-1) ?? new Map<Question, unknown>();
      const kept = this.found.get(memo) ?? [];
      this.found.set(memo, kept);
      kept.push({ value: outcome.value, failed: outcome.failed, answers });
      return outcome;
    } finally {
      this.#active.delete(call);
      const answers = this.#asking.pop() ?? new Map<Question, unknown>();
      for (const [question, answer] of answers) this.#asking.at(-1)?.set(question, answer);
    }
  }

  #notePath({ path: { steps } }: Memo): void {
    const asking = this.#asking.at(-1);
    for (let i = 0; asking !== undefined && i < steps.length; i += 2) {
      const question = this.engine.questions.byId[steps[i] as number] as Question;
      asking.set(question, question.answer(steps[i + 1] as number));
    }
  }

  #stands({ dependencies }: Memo): boolean {
    return dependencies.every((dependency) => {
      if (typeof dependency === "number") {
        const question = this.engine.questions.byId[dependency] as Question;
        return structurallyEqual(this.#answer(question), this.client.answerTo(question));
      }
      if (dependency instanceof Input) return !this.inputs.differs(dependency);
      const now = this.#outcome(dependency);
      return now.failed === dependency.failed && Object.is(now.value, dependency.value);
    });
  }

  #run(call: Call, memo: Memo): Outcome {
    const { compute, equals } = call.query;
    let outcome: Outcome;
    try {
      const value = compute(this.#context, call.arg as never);
      refusePromise(call, value);
      outcome = { value, failed: false };
    } catch (error) {
      if (error instanceof RangeError) throw error;
      outcome = { value: error, failed: true };
    }
    return !outcome.failed && !memo.failed && equals(memo.value, outcome.value) ? memo : outcome;
  }

  #answer(question: Question): unknown {
    if (this.#answers.has(question)) return this.#noted(question, this.#answers.get(question));
    let answer: unknown = this.client.answerTo(question);
    if (this.#renewed) this.reached.extendAnswer(this.client.answerMemos.get(question.id), this.client);
    if (this.reached.answer(question.id, this.client)) {
      try {
        answer = question.fact.compute(this.client.client as never, question.arg as never, this.#context);
      } catch (error) {
        answer = new Refusal(error);
      }
    }
    this.#answers.set(question, answer);
    return this.#noted(question, answer);
  }

  #noted(question: Question, answer: unknown): unknown {
    this.#asking.at(-1)?.set(question, answer);
    return answer;
  }

  readonly #context: QueryContext = {
    read: (of: Collection<unknown> | Index<unknown>, key: string): never =>
      this.inputs.read(of, key, this.#context) as never,
    keys: (of) => this.inputs.keys(of, this.#context),
    all: (of: Collection<unknown>): never => this.inputs.all(of, this.#context) as never,
    call: (query: AnyQuery, arg?: unknown): never => {
      const { value, failed } = this.call(query, arg);
      if (failed) throw value;
      return value as never;
    },
    ask: (fact: AnyFact, arg?: unknown): never => {
      const answer = this.#answer(this.engine.questions.question(fact, arg));
      if (answer instanceof Refusal) throw answer.error;
      return answer as never;
    },
  };
}
