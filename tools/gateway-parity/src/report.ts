import type { JsonDifference } from "@istiod/explain";

/** Counts equal and different subjects, and differences by their general paths. */
export class Report {
  readonly #counts = new Map<string, number>();
  readonly #examples = new Map<string, string[]>();
  readonly #limit: number;
  /** Number of subjects with differences. */
  differences = 0;

  /** @param examples of each kind of difference that are printed */
  constructor(examples: number) {
    this.#limit = examples;
  }

  /** Counts something that is not a difference. */
  note(text: string): void {
    this.#count(`note: ${text}`);
  }

  /** Returns a line for each difference. */
  add(group: string, where: string, differences: readonly JsonDifference[]): readonly string[] {
    this.#count(`${group}: ${differences.length === 0 ? "equal" : "different"}`);
    if (differences.length > 0) this.differences++;
    return differences.map((each) => {
      const line = `${where}: ${each.path}\n      istio: ${text(each.expected)}\n      this:  ${text(each.actual)}`;
      const key = `${group}: ${each.kind} ${general(each.path)}`;
      this.#count(key);
      const examples = this.#examples.get(key) ?? [];
      this.#examples.set(key, examples);
      if (examples.length < this.#limit) examples.push(line);
      return line;
    });
  }

  #count(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  print(): void {
    for (const key of [...this.#counts.keys()].sort()) {
      console.log(`${this.#counts.get(key)} ${key}`);
      for (const example of this.#examples.get(key) ?? []) console.log(`    ${example}`);
    }
  }
}

const text = (value: unknown): string => (JSON.stringify(value) ?? "absent").slice(0, 1500);

/** Returns a path without names and indexes. */
const general = (path: string): string =>
  path
    .replaceAll(/\/\d+(?=\/|$)/g, "/*")
    .replaceAll(/\[[^\]]*\]/g, "[]")
    .replaceAll(/\/[^/]*[|. ][^/]*/g, "/…");
