import type { ClientView } from "../client-view.js";
import { Input } from "../inputs/input.js";
import { Memo, type Dependents } from "../records/memo.js";
import type { SupposedInputs } from "./supposed-inputs.js";
import type { Question } from "../records/question.js";

/** Everything that was made from some inputs, by the records of its computation. */
export class Reached {
  readonly #memos = new Set<Memo>();
  /** Of each client, the questions whose answers were made from them. */
  readonly #questions = new Map<ClientView<unknown>, Set<number>>();

  /** Looked at anew, and made from none of the inputs. */
  readonly #looked = new Set<Memo>();

  constructor(
    readonly inputs: SupposedInputs,
    readonly revision: number,
  ) {
    const waiting: Memo[] = [];
    for (const input of inputs.changed()) this.#visit(input.dependents, waiting);
    for (let memo = waiting.pop(); memo !== undefined; memo = waiting.pop()) this.#visit(memo.dependents, waiting);
  }

  /** Whether a client's result was made from one of the inputs, or found by an answer that was. */
  result(memo: Memo, client: ClientView<unknown>): boolean {
    if (this.#memos.has(memo)) return true;
    const questions = this.#questions.get(client);
    if (questions === undefined) return false;
    const { steps } = memo.path;
    for (let i = 0; i < steps.length; i += 2) if (questions.has(steps[i] as number)) return true;
    return false;
  }

  /** Whether a client's answer to a question was made from one of the inputs. */
  answer(question: number, client: ClientView<unknown>): boolean {
    return this.#questions.get(client)?.has(question) ?? false;
  }

  /** Takes in what was computed for a client since this was made: a result, and what it is made from. */
  extend(memo: Memo, client: ClientView<unknown>): boolean {
    const { steps } = memo.path;
    let reached = this.#memos.has(memo);
    for (let i = 0; i < steps.length; i += 2)
      reached = this.extendAnswer(client.answerMemos.get(steps[i] as number), client) || reached;
    if (memo.verifiedAt < this.revision || this.#looked.has(memo)) return reached;
    this.#looked.add(memo);
    for (const dependency of memo.dependencies) {
      if (dependency instanceof Input) reached = this.inputs.differs(dependency) || reached;
      else if (typeof dependency === "number") continue;
      else if (dependency.client === null) reached = this.extend(dependency, client) || reached;
      else reached = this.extendAnswer(dependency, client) || reached;
    }
    if (reached && memo.client === null) this.#memos.add(memo);
    return reached;
  }

  /** The same for an answer; undefined: it was made from nothing. */
  extendAnswer(memo: Memo | undefined, client: ClientView<unknown>): boolean {
    if (memo === undefined) return false;
    const { id } = memo.owner as Question;
    if (!this.extend(memo, client)) return this.answer(id, client);
    const questions = this.#questions.get(client) ?? new Set<number>();
    this.#questions.set(client, questions.add(id));
    return true;
  }

  #visit(dependents: Dependents, waiting: Memo[]): void {
    if (dependents === null) return;
    if (dependents instanceof Memo) this.#reach(dependents, waiting);
    else for (const memo of dependents) this.#reach(memo, waiting);
  }

  #reach(memo: Memo, waiting: Memo[]): void {
    if (memo.client === null) {
      if (this.#memos.has(memo)) return;
      this.#memos.add(memo);
    } else {
      const { id } = memo.owner as Question;
      const questions = this.#questions.get(memo.client) ?? new Set<number>();
      if (questions.has(id)) return;
      this.#questions.set(memo.client, questions.add(id));
    }
    waiting.push(memo);
  }
}
