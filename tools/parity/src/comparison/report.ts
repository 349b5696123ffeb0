import type { JsonDifference } from "@istiod/explain";
import type { Cause, Pair } from "./cause.js";
import { explainDifferences } from "./explain-differences.js";

/** Counts equal and different resources, those with each cause of differences, and other differences by their paths. */
export class ComparisonReport<Type extends string, Context> {
  readonly #counts = new Map<string, number>();
  readonly #examples = new Map<string, string[]>();
  readonly #causes: readonly Cause<Type, Context>[];
  readonly #limit: number;
  /** Number of resources with differences that have no known cause. */
  unexplained = 0;

  /** @param examples of each kind of difference that are printed */
  constructor(causes: readonly Cause<Type, Context>[], examples: number) {
    this.#causes = causes;
    this.#limit = examples;
  }

  /** Numbers by what they count. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /**
   * Compares a resource. Returns the differences without a known cause, as text. Two that are empty, such as statuses
   * that nobody has written, are counted apart.
   *
   * @param where names the resource in examples
   */
  add(type: Type, where: string, pair: Pair, context: Context): readonly string[] {
    if (pair.every((each) => each === undefined || Object.keys(each).length === 0)) {
      this.count(`${type}: none on either side`);
      return [];
    }
    const { explained, unexplained } = explainDifferences(this.#causes, type, pair, context);
    const isEqual = explained.length === 0 && unexplained.length === 0;
    this.count(`${type}: ${isEqual ? "equal" : "different"}`);
    for (const { cause, difference } of explained) {
      const key = `${type}: different, ${cause}`;
      this.count(key);
      if (difference !== undefined) this.#example(key, where, difference);
    }
    if (unexplained.length > 0) this.unexplained++;
    return unexplained.map((each) => {
      const key = `${type}: not explained: ${each.kind} ${general(each.path)}`;
      this.count(key);
      this.#example(key, where, each);
      return exampleText(where, each, 10_000);
    });
  }

  /** Counts something. */
  count(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  #example(key: string, where: string, difference: JsonDifference): void {
    const examples = this.#examples.get(key) ?? [];
    this.#examples.set(key, examples);
    if (examples.length < this.#limit) examples.push(exampleText(where, difference, 700));
  }

  print(): void {
    for (const key of [...this.#counts.keys()].sort()) {
      console.log(`${this.#counts.get(key)} ${key}`);
      for (const example of this.#examples.get(key) ?? []) console.log(`    ${example}`);
    }
  }
}

function exampleText(where: string, { path, expected, actual }: JsonDifference, length: number): string {
  const text = (value: unknown): string => (JSON.stringify(value) ?? "absent").slice(0, length);
  return `${where}: ${path}\n      istio: ${text(expected)}\n      this:  ${text(actual)}`;
}

/** Returns a path without names and indexes. */
const general = (path: string): string =>
  path
    .replaceAll(/\/\d+(?=\/|$)/g, "/*")
    .replaceAll(/\[[^\]]*\]/g, "[]")
    .replaceAll(/\/[^/]*[| ][^/]*/g, "/|");
