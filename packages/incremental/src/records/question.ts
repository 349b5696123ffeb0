import type { Fact } from "../definitions/context.js";
import { canonicalKey } from "../values/key.js";
import { KeyTable } from "../values/key-table.js";
import { structurallyEqual } from "../values/equality.js";
import { fingerprint } from "../values/fingerprint.js";
import { Computation } from "./computation.js";

export type AnyFact = Fact<never, never, unknown>;

/** The answer of a fact that threw an error. */
export class ThrownAnswer {
  constructor(readonly error: unknown) {}
}

/** A fact with an argument, and its answers, numbered from 1; equal answers have one number. */
export class Question extends Computation {
  /** The number of paths that ask it. */
  paths = 0;
  /** The revision since which no path asks it. */
  unusedSince = 0;
  /** True if it is queued to be dropped if it is still unused. */
  queued = false;
  readonly #answers: unknown[] = [undefined];
  readonly #byPrimitive = new Map<unknown, number>();
  readonly #byFingerprint = new Map<number, number[]>();
  readonly #free: number[] = [];

  constructor(
    readonly fact: AnyFact,
    readonly arg: unknown,
    /** Small, and reused after the question is dropped. */
    readonly id: number,
  ) {
    super();
  }

  override get label(): string {
    return `${this.fact.name}(${this.arg === undefined ? "" : canonicalKey(this.arg)})`;
  }

  answer(number: number): unknown {
    return this.#answers[number];
  }

  /** The number of distinct answers kept. */
  get size(): number {
    return this.#answers.length - 1 - this.#free.length;
  }

  /** Returns the number of an answer, numbering it if it is new. */
  number(answer: unknown): number {
    if ((typeof answer !== "object" && typeof answer !== "function") || answer === null) {
      const known = this.#byPrimitive.get(answer);
      if (known !== undefined) return known;
      const number = this.#keep(answer);
      this.#byPrimitive.set(answer, number);
      return number;
    }
    const hash = fingerprint(answer instanceof ThrownAnswer ? answer.error : answer);
    const alike = this.#byFingerprint.get(hash) ?? [];
    for (const number of alike) if (sameAnswer(this.#answers[number], answer)) return number;
    const number = this.#keep(answer);
    this.#byFingerprint.set(hash, [...alike, number]);
    return number;
  }

  /** Drops the other answers; their numbers are reused. */
  keepOnly(used: ReadonlySet<number>): void {
    const free = new Set(this.#free);
    for (let number = 1; number < this.#answers.length; number++) {
      if (used.has(number) || free.has(number)) continue;
      this.#answers[number] = undefined;
      this.#free.push(number);
      free.add(number);
    }
    for (const [answer, number] of this.#byPrimitive) if (free.has(number)) this.#byPrimitive.delete(answer);
    for (const [hash, numbers] of this.#byFingerprint) {
      const kept = numbers.filter((number) => !free.has(number));
      if (kept.length === 0) this.#byFingerprint.delete(hash);
      else this.#byFingerprint.set(hash, kept);
    }
  }

  #keep(answer: unknown): number {
    const number = this.#free.pop() ?? this.#answers.length;
    this.#answers[number] = answer;
    return number;
  }
}

function sameAnswer(a: unknown, b: unknown): boolean {
  if (a instanceof ThrownAnswer || b instanceof ThrownAnswer)
    return a instanceof ThrownAnswer && b instanceof ThrownAnswer && structurallyEqual(a.error, b.error);
  return structurallyEqual(a, b);
}

/** The questions of a database, with numbered answers. */
export class Questions {
  readonly byId: (Question | undefined)[] = [];
  readonly #tables = new Map<AnyFact, KeyTable<Question>>();
  readonly #free: number[] = [];
  size = 0;
  /** The number of answers added since unused ones were last dropped. */
  addedAnswers = 0;

  /** Returns the question, adding it if there is none. */
  question(fact: AnyFact, arg: unknown): Question {
    let table = this.#tables.get(fact);
    if (table === undefined) this.#tables.set(fact, (table = new KeyTable<Question>()));
    let question = table.get(arg);
    if (question === undefined) {
      question = new Question(fact, arg, this.#free.at(-1) ?? this.byId.length);
      table.add(question);
      this.#free.pop();
      this.byId[question.id] = question;
      this.size++;
    }
    return question;
  }

  /** Returns the number of an answer. */
  number(question: Question, answer: unknown): number {
    const before = question.size;
    const number = question.number(answer);
    if (question.size > before) this.addedAnswers++;
    return number;
  }

  drop(question: Question): void {
    const table = this.#tables.get(question.fact);
    table?.delete(question);
    if (table?.size === 0) this.#tables.delete(question.fact);
    this.byId[question.id] = undefined;
    this.#free.push(question.id);
    this.size--;
  }

  clear(): void {
    this.#tables.clear();
    this.byId.length = this.#free.length = this.size = this.addedAnswers = 0;
  }
}
