import type { Collection, Index, QueryContext } from "../definitions/context.js";
import { CycleError } from "../errors.js";
import type { Engine } from "../evaluation/engine.js";
import { isOutOfStack } from "../evaluation/stack-overflow.js";
import { rejectPromise } from "../evaluation/purity.js";
import { Input } from "../inputs/input.js";
import type { AnyQuery, Call } from "../records/call.js";
import type { Memo } from "../records/memo.js";
import { ThrownAnswer, type AnyFact, type Question } from "../records/question.js";
import { structurallyEqual } from "../values/equality.js";
import type { ClientView } from "../views/client-view.js";
import type { DryRunInputs } from "./dry-run-inputs.js";
import type { ReachedRecords } from "./reached.js";

interface Outcome {
  readonly value: unknown;
  /** True if `value` was thrown. */
  readonly failed: boolean;
}

/** An outcome for the clients that have these answers. */
interface ClassOutcome extends Outcome {
  readonly answers: Answers;
}

type Answers = ReadonlyMap<Question, unknown>;

/** The outcomes of a dry run by the memos of the current results. */
export type Results = Map<Memo, ClassOutcome[]>;

export interface EvaluationOptions {
  readonly engine: Engine;
  readonly view: ClientView<unknown>;
  readonly inputs: DryRunInputs;
  readonly reached: ReachedRecords;
  readonly results: Results;
  /** The engine's work when the dry run began. */
  readonly workBefore: number;
}

/** The evaluation of calls for one client in a dry run. */
export class Evaluation {
  readonly #options: EvaluationOptions;
  readonly #active = new Set<Call>();
  readonly #answers = new Map<Question, unknown>();
  /** The answers that each active call depends on, the innermost last. */
  readonly #asked: Map<Question, unknown>[] = [];

  constructor(options: EvaluationOptions) {
    this.#options = options;
  }

  call(query: AnyQuery, arg: unknown): Outcome {
    const { view, reached } = this.#options;
    const memo = view.memo(query, arg);
    if (this.#hasNewRecords) reached.extend(memo, view.record);
    return this.#outcome(memo);
  }

  /**
   * True if records were added or verified since the dry run began. Valid records must then be visited, too, because
   * they may have been verified as dependencies of another record, or as answers needed to find a memo.
   */
  get #hasNewRecords(): boolean {
    return this.#options.engine.counters.work > this.#options.workBefore;
  }

  #outcome(memo: Memo): Outcome {
    const { reached, results, view } = this.#options;
    if (!reached.hasResult(memo, view.record)) {
      this.#notePath(memo);
      return memo;
    }
    const known = results.get(memo)?.find(({ answers }) => this.#hasAnswers(answers));
    if (known !== undefined) {
      this.#noteAnswers(known.answers);
      return known;
    }
    const call = memo.owner as Call;
    if (this.#active.has(call)) throw new CycleError([call.label]);
    this.#active.add(call);
    const answers = new Map<Question, unknown>();
    this.#asked.push(answers);
    try {
      const { value, failed } = this.#isUnchanged(memo) ? memo : this.#run(call, memo);
      const outcome = { value, failed, answers };
      const outcomes = results.get(memo);
      if (outcomes === undefined) results.set(memo, [outcome]);
      else outcomes.push(outcome);
      return outcome;
    } finally {
      this.#active.delete(call);
      this.#asked.pop();
      this.#noteAnswers(answers);
    }
  }

  #hasAnswers(answers: Answers): boolean {
    for (const [question, answer] of answers) if (!structurallyEqual(this.#answer(question), answer)) return false;
    return true;
  }

  #notePath({ path: { steps } }: Memo): void {
    const asked = this.#asked.at(-1);
    for (let i = 0; asked !== undefined && i < steps.length; i += 2) {
      const question = this.#question(steps[i] as number);
      asked.set(question, question.answer(steps[i + 1] as number));
    }
  }

  #noteAnswers(answers: Answers): void {
    const asked = this.#asked.at(-1);
    if (asked !== undefined) for (const [question, answer] of answers) asked.set(question, answer);
  }

  #isUnchanged({ dependencies }: Memo): boolean {
    return dependencies.every((dependency) => {
      if (typeof dependency === "number") {
        const question = this.#question(dependency);
        return structurallyEqual(this.#answer(question), this.#options.view.answer(question));
      }
      if (dependency instanceof Input) return !this.#options.inputs.differs(dependency);
      const memo = dependency as Memo;
      const now = this.#outcome(memo);
      return now.failed === memo.failed && Object.is(now.value, memo.value);
    });
  }

  #run(call: Call, memo: Memo): Outcome {
    const { compute, equals } = call.query;
    let outcome: Outcome;
    try {
      const value = compute(this.#context, call.arg as never);
      rejectPromise(call, value);
      outcome = { value, failed: false };
    } catch (error) {
      if (isOutOfStack(error)) throw error;
      outcome = { value: error, failed: true };
    }
    return !outcome.failed && !memo.failed && equals(memo.value, outcome.value) ? memo : outcome;
  }

  #answer(question: Question): unknown {
    if (!this.#answers.has(question)) this.#answers.set(question, this.#computeAnswer(question));
    const answer = this.#answers.get(question);
    this.#asked.at(-1)?.set(question, answer);
    return answer;
  }

  #computeAnswer(question: Question): unknown {
    const { reached, view } = this.#options;
    const answer = view.answer(question);
    if (this.#hasNewRecords) reached.extendAnswer(view.record.answerMemos.get(question.id), view.record);
    if (!reached.hasAnswer(question.id, view.record)) return answer;
    try {
      return question.fact.compute(view.client as never, question.arg as never, this.#context);
    } catch (error) {
      return new ThrownAnswer(error);
    }
  }

  #question(id: number): Question {
    return this.#options.engine.store.questions.byId[id] as Question;
  }

  /** The context of the queries and facts that run. */
  readonly #context: QueryContext = {
    read: (of: Collection<unknown> | Index<unknown>, key: string): never =>
      this.#options.inputs.read(of, key, this.#context) as never,
    keys: (of) => this.#options.inputs.keys(of, this.#context),
    members: (of, bucket) => this.#options.inputs.members(of, bucket, this.#context),
    all: (of: Collection<unknown>): never => this.#options.inputs.all(of, this.#context) as never,
    call: (query: AnyQuery, arg?: unknown): never => {
      const { value, failed } = this.call(query, arg);
      if (failed) throw value;
      return value as never;
    },
    ask: (fact: AnyFact, arg?: unknown): never => {
      const answer = this.#answer(this.#options.engine.store.questions.question(fact, arg));
      if (answer instanceof ThrownAnswer) throw answer.error;
      return answer as never;
    },
  };
}
