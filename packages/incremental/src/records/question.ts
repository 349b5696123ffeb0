import type { Fact } from "../definitions/fact.js";
import { canonicalKey } from "../values/key.js";
import { KeyTable } from "../values/key-table.js";
import { structurallyEqual } from "../values/equality.js";
import { fingerprint } from "../values/fingerprint.js";

export type AnyFact = Fact<never, never, unknown>;

/** An answer that was thrown. */
export class Refusal {
  constructor(readonly error: unknown) {}
}

/** One fact with one argument, and every answer that clients gave to it. Answers have numbers from 1; equal answers have one. */
export class Question {
  /** How many paths it is on. */
  paths = 0;
  /** Its place among what is being computed; -1 where it is not. */
  activeAt = -1;
  /** The revision since which no path asks it. */
  unusedSince = 0;
  /** Whether it waits in a queue to be dropped if it is still not asked. */
  queued = false;
  readonly #answers: unknown[] = [undefined];
  readonly #byPrimitive = new Map<unknown, number>();
  readonly #byFingerprint = new Map<number, number[]>();
  readonly #free: number[] = [];

  constructor(
    readonly fact: AnyFact,
    readonly arg: unknown,
    /** Small, and used again after the question is dropped. */
    readonly id: number,
  ) {}

  /** As in `name(arg)`. */
  get label(): string {
    return `${this.fact.name}(${this.arg === undefined ? "" : canonicalKey(this.arg)})`;
  }

  answer(number: number): unknown {
    return this.#answers[number];
  }

  /** The number of answers kept. */
  get size(): number {
    return this.#answers.length - 1 - this.#free.length;
  }

  /** The number of an answer. */
  number(answer: unknown): number {
    if ((typeof answer !== "object" && typeof answer !== "function") || answer === null) {
      const known = this.#byPrimitive.get(answer);
      if (known !== undefined) return known;
      const number = this.#keep(answer);
      this.#byPrimitive.set(answer, number);
      return number;
    }
    const hash = fingerprint(answer instanceof Refusal ? answer.error : answer);
    const alike = this.#byFingerprint.get(hash) ?? [];
    for (const number of alike) if (sameAnswer(this.#answers[number], answer)) return number;
    const number = this.#keep(answer);
    this.#byFingerprint.set(hash, [...alike, number]);
    return number;
  }

  /** Forgets the answers that nobody uses; their numbers may be given again. */
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
  if (a instanceof Refusal || b instanceof Refusal)
    return a instanceof Refusal && b instanceof Refusal && structurallyEqual(a.error, b.error);
  return structurallyEqual(a, b);
}

/** Every question that was asked. */
export class Questions {
  readonly byId: (Question | undefined)[] = [];
  readonly #tables = new Map<AnyFact, KeyTable<Question>>();
  readonly #free: number[] = [];
  size = 0;

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
    this.byId.length = this.#free.length = this.size = 0;
  }
}
