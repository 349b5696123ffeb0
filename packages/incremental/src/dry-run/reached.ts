import { Input } from "../inputs/input.js";
import type { Client } from "../records/client.js";
import { Memo, type AnsweringClient, type Dependents } from "../records/memo.js";
import type { Question } from "../records/question.js";
import type { DryRunInputs } from "./dry-run-inputs.js";

/** The records that depend on the inputs that a dry run changes. */
export class ReachedRecords {
  readonly #inputs: DryRunInputs;
  readonly #revision: number;
  readonly #memos = new Set<Memo>();
  /** By client, the questions whose answers depend on them. */
  readonly #questions = new Map<AnsweringClient, Set<number>>();
  /** Memos of the current revision that `extend` has visited. */
  readonly #visited = new Set<Memo>();
  readonly #search: Iterator<void>;

  constructor(inputs: DryRunInputs, revision: number) {
    this.#inputs = inputs;
    this.#revision = revision;
    this.#search = this.#reachDependents(inputs.changed());
  }

  /** Searches the records that depend on the changed inputs, in steps. The other methods need the end of the search. */
  search(): Iterator<void> {
    return this.#search;
  }

  *#reachDependents(changed: Iterable<Input>): Generator<void> {
    const pending: Memo[] = [];
    for (const input of changed) {
      this.#reachAll(input.dependents, pending);
      yield;
    }
    for (let memo = pending.pop(); memo !== undefined; memo = pending.pop()) {
      this.#reachAll(memo.dependents, pending);
      yield;
    }
  }

  /** Reports whether a client's result, or an answer by which it was found, depends on the changed inputs. */
  hasResult(memo: Memo, client: Client): boolean {
    if (this.#memos.has(memo)) return true;
    const questions = this.#questions.get(client);
    if (questions === undefined) return false;
    const { steps } = memo.path;
    for (let i = 0; i < steps.length; i += 2) if (questions.has(steps[i] as number)) return true;
    return false;
  }

  /** Reports whether a client's answer depends on the changed inputs. */
  hasAnswer(question: number, client: Client): boolean {
    return this.#questions.get(client)?.has(question) ?? false;
  }

  /**
   * Adds a client's result that was computed since the dry run began, with its dependencies. Reports whether it depends
   * on the changed inputs.
   */
  extend(memo: Memo, client: Client): boolean {
    const { steps } = memo.path;
    let reached = this.#memos.has(memo);
    for (let i = 0; i < steps.length; i += 2) {
      reached = this.extendAnswer(client.answerMemos.get(steps[i] as number), client) || reached;
    }
    if (memo.verifiedAt < this.#revision || this.#visited.has(memo)) return reached;
    this.#visited.add(memo);
    for (const dependency of memo.dependencies) {
      if (typeof dependency === "number") continue;
      reached = this.#extendDependency(dependency as Input | Memo, client) || reached;
    }
    if (reached && memo.client === null) this.#memos.add(memo);
    return reached;
  }

  /** As `extend`, for the memo of an answer; undefined if the answer has no dependencies. */
  extendAnswer(memo: Memo | undefined, client: Client): boolean {
    if (memo === undefined) return false;
    const { id } = memo.owner as Question;
    if (!this.extend(memo, client)) return this.hasAnswer(id, client);
    this.#addAnswer(client, id);
    return true;
  }

  #extendDependency(dependency: Input | Memo, client: Client): boolean {
    if (dependency instanceof Input) return this.#inputs.differs(dependency);
    return dependency.client === null ? this.extend(dependency, client) : this.extendAnswer(dependency, client);
  }

  #reachAll(dependents: Dependents, pending: Memo[]): void {
    if (dependents === null) return;
    if (dependents instanceof Memo) this.#reach(dependents, pending);
    else for (const memo of dependents) this.#reach(memo, pending);
  }

  #reach(memo: Memo, pending: Memo[]): void {
    if (memo.client === null) {
      if (this.#memos.has(memo)) return;
      this.#memos.add(memo);
    } else if (!this.#addAnswer(memo.client, (memo.owner as Question).id)) return;
    pending.push(memo);
  }

  /** Reports whether the answer was not reached before. */
  #addAnswer(client: AnsweringClient, question: number): boolean {
    const questions = this.#questions.get(client) ?? new Set<number>();
    if (questions.has(question)) return false;
    this.#questions.set(client, questions.add(question));
    return true;
  }
}
