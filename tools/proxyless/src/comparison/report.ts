import { type GrpcTypeName, grpcTypes } from "@istiod/bench";
import { type JsonDifference, jsonDifferences } from "@istiod/explain";
import { causes, type Pair } from "./causes.js";
import type { Resources } from "./resources.js";

/** Counts equal resources, differences on purpose by their causes, and others by their paths. */
export class Report {
  readonly #counts = new Map<string, number>();
  readonly #examples = new Map<string, string[]>();
  readonly #limit: number;
  /** Number of resources with differences that have no known cause. */
  unexplained = 0;

  /** @param examples of each kind of difference that are printed */
  constructor(examples: number) {
    this.#limit = examples;
  }

  add(namespace: string, theirs: Resources, ours: Resources): void {
    for (const type of Object.keys(grpcTypes) as GrpcTypeName[])
      for (const name of new Set([...Object.keys(theirs[type]), ...Object.keys(ours[type])]))
        this.#compare(type, `${namespace} ${name}`, name, [theirs[type][name], ours[type][name]]);
  }

  #compare(type: GrpcTypeName, where: string, name: string, resources: Pair): void {
    let pair = resources;
    let differences = differencesOf(pair);
    if (differences.length === 0) return this.#count(`${type}: equal`);
    const found: string[] = [];
    for (const cause of causes) {
      if (cause.type !== type) continue;
      const without = cause.without(pair, name);
      const left = differencesOf(without);
      if (JSON.stringify(left) === JSON.stringify(differences)) continue;
      this.#example(`${type}: differs, ${cause.name}`, where, differences[0]);
      found.push(cause.name);
      [pair, differences] = [without, left];
      if (left.length === 0) break;
    }
    this.#count(`${type}: differs${found.length === 0 ? "" : `, ${found.join("; ")}`}`);
    if (differences.length > 0) this.unexplained++;
    for (const each of differences) {
      const key = `${type}: not explained: ${each.kind} ${general(each.path)}`;
      this.#count(key);
      this.#example(key, where, each);
    }
  }

  #example(key: string, where: string, difference: JsonDifference | undefined): void {
    const examples = this.#examples.get(key) ?? [];
    this.#examples.set(key, examples);
    if (difference === undefined || examples.length >= this.#limit) return;
    const { path, expected, actual } = difference;
    examples.push(`${where}: ${path}\n      istio: ${text(expected)}\n      this:  ${text(actual)}`);
  }

  #count(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  print(): void {
    for (const key of [...new Set([...this.#counts.keys(), ...this.#examples.keys()])].sort()) {
      console.log(`${this.#counts.get(key) ?? "e.g."} ${key}`);
      for (const example of this.#examples.get(key) ?? []) console.log(`    ${example}`);
    }
  }
}

const differencesOf = ([theirs, ours]: Pair): readonly JsonDifference[] =>
  jsonDifferences(theirs && sorted(theirs), ours && sorted(ours));

const text = (value: unknown): string => (JSON.stringify(value) ?? "absent").slice(0, 700);

/** Returns a path without names and indexes. */
const general = (path: string): string =>
  path
    .replaceAll(/\/\d+(?=\/|$)/g, "/*")
    .replaceAll(/\[[^\]]*\]/g, "[]")
    .replaceAll(/\/[^/]*\|[^/]*/g, "/|");

/** Lists whose order means nothing, or whose order Istio leaves to chance. */
const unordered: ReadonlySet<string> = new Set(["lbEndpoints", "domains", "endpoints"]);

/** Sorts keys, lists without an order, and the policies of RBAC, whose names differ. */
function sorted(value: unknown, key = ""): never {
  if (Array.isArray(value)) {
    const items = value.map((each) => sorted(each) as unknown);
    return (unordered.has(key) ? items.sort(byText) : items) as never;
  }
  if (typeof value !== "object" || value === null) return value as never;
  const entries = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, sorted(inner, name)] as const);
  return (
    key === "policies" ? entries.map(([, policy]) => JSON.stringify(policy)).sort() : Object.fromEntries(entries)
  ) as never;
}

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
