import type { EntryFilter, Collection, Index, QueryContext } from "../definitions/context.js";
import { CycleError, IncrementalError } from "../errors.js";
import { includedValues } from "../inputs/included-values.js";
import { Input, valueOf } from "../inputs/input.js";
import { Call, type AnyQuery } from "../records/call.js";
import { Memo, valid } from "../records/memo.js";
import { noPath } from "../records/path.js";
import { ThrownAnswer, type AnyFact, type Question } from "../records/question.js";
import { sameKey } from "../values/key.js";
import { matches } from "./match.js";
import { Recording } from "./recording.js";

/** The context through which a query or fact reads while it runs. */
export class Frame extends Recording implements QueryContext {
  /** The last filter that was called. Its result is the same while the frame runs. */
  #filter: EntryFilter | undefined;
  #includes: ((key: string) => boolean) | undefined;

  read(of: Collection<unknown> | Index<unknown>, key: string): never {
    this.#requireRunning();
    const expected = this.expected;
    const input =
      expected instanceof Input && expected.key === key && expected.table.of === of && expected.kind === "item"
        ? expected
        : this.engine.inputs.item(of, key);
    this.addNode(input);
    const value = valueOf(input);
    return (of.filter === undefined ? value : this.#included(of, of.filter, key, value)) as never;
  }

  keys(of: Collection<unknown> | Index<unknown>): readonly string[] {
    this.#requireRunning();
    const input = this.engine.inputs.keys(of);
    this.addNode(input);
    const keys = valueOf(input) as readonly string[];
    const includes = of.filter === undefined || keys.length === 0 ? undefined : this.#predicate(of.filter);
    if (includes === undefined) return keys;
    if (of.kind === "collection") return keys.filter(includes);
    return keys.filter((name) => (this.read(of, name) as readonly unknown[]).length > 0);
  }

  members(of: Index<unknown>, bucket: string): readonly string[] {
    this.#requireRunning();
    const input = this.engine.inputs.members(of, bucket);
    this.addNode(input);
    const keys = valueOf(input) as readonly string[];
    const includes = of.filter === undefined || keys.length === 0 ? undefined : this.#predicate(of.filter);
    return includes === undefined ? keys : keys.filter(includes);
  }

  all(of: Collection<unknown>): never {
    this.#requireRunning();
    const { inputs } = this.engine;
    const input = inputs.all(of);
    this.addNode(input);
    const values = valueOf(input) as readonly unknown[];
    const includes = of.filter === undefined || values.length === 0 ? undefined : this.#predicate(of.filter);
    return (includes === undefined ? values : includedValues(inputs.table(of).ordered(), includes, values)) as never;
  }

  call(query: AnyQuery, arg?: unknown): never {
    this.#requireRunning();
    const engine = this.engine;
    const expected = this.expected;
    let memo: Memo;
    if (
      expected instanceof Memo &&
      expected.owner instanceof Call &&
      expected.owner.query === query &&
      hasArg(expected.owner, arg)
    ) {
      if (expected.validity === valid && matches(engine, this.client, expected.owner, expected.path)) {
        memo = expected;
        engine.counters.hits++;
      } else memo = this.#fetch(expected.owner);
    } else memo = this.#fetch(engine.store.call(query, arg));
    this.addNode(memo);
    if (memo.path !== noPath) this.addPath(memo.path);
    if (memo.failed) throw this.#checkCycle(memo.value);
    return memo.value as never;
  }

  ask(fact: AnyFact, arg?: unknown): never {
    this.#requireRunning();
    const expected = this.expected;
    const questions = this.engine.store.questions;
    const last = typeof expected === "number" ? (questions.byId[expected] as Question) : undefined;
    const question =
      last !== undefined && last.fact === fact && sameKey(last.arg, arg) ? last : questions.question(fact, arg);
    const number = this.#answer(question);
    if (this.hasPath) this.addQuestion(question.id, number);
    else this.addAnswer(question.id);
    const answer = question.answer(number);
    if (answer instanceof ThrownAnswer) throw this.#checkCycle(answer.error);
    return answer as never;
  }

  /** Makes the result one of the current revision only. */
  addRevision(): void {
    this.addNode(this.engine.inputs.revisionInput);
  }

  /** Removes excluded entries from a value. The filter is not called for absent entries and empty buckets. */
  #included(of: Collection<unknown> | Index<unknown>, filter: EntryFilter, key: string, value: unknown): unknown {
    if (of.kind === "collection") {
      return value === undefined || (this.#predicate(filter)?.(key) ?? true) ? value : undefined;
    }
    const values = value as readonly unknown[];
    const includes = values.length === 0 ? undefined : this.#predicate(filter);
    return includes === undefined
      ? values
      : includedValues(this.engine.inputs.index(of).entriesIn(key), includes, values);
  }

  #predicate(filter: EntryFilter): ((key: string) => boolean) | undefined {
    if (this.#filter !== filter) {
      this.#includes = filter(this);
      this.#filter = filter;
    }
    return this.#includes;
  }

  #requireRunning(): void {
    if (this.active.running !== this) {
      const why = "its context was used after it returned, or from inside another query";
      throw new IncrementalError("purity", `${this.owner.label}: ${why}`);
    }
    if (this.poison !== null) throw this.poison.error;
  }

  /** Errors thrown here that are not a memo's value are cycles, or leave the records incomplete. */
  #fetch(call: Call): Memo {
    const engine = this.engine;
    try {
      return engine.evaluator.fetch(engine, call);
    } catch (error) {
      if (this.poison === null) this.active.broken = true;
      throw error;
    }
  }

  #answer(question: Question): number {
    const known = this.client.answers[question.id] as number;
    if (known > 0) return known;
    const engine = this.engine;
    try {
      return engine.evaluator.answer(engine, this.client, question);
    } catch (error) {
      if (this.poison === null) this.active.broken = true;
      throw error;
    }
  }

  /** Poisons this computation if it is on the cycle of a memoized error. Returns the error. */
  #checkCycle(error: unknown): unknown {
    if (error instanceof CycleError && error.cycle.includes(this.owner.label)) {
      this.poison ??= { error, head: this.active.depth - 1, speculative: false };
    }
    return error;
  }
}

/** Reports whether a call has an argument; false if only the query's `key` can determine that. */
function hasArg(call: Call, arg: unknown): boolean {
  return call.query.key === undefined ? sameKey(call.arg, arg) : call.arg === arg;
}
