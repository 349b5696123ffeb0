import { type GrpcTypeName, grpcTypes } from "@istiod/bench";
import type { JsonDifference } from "@istiod/explain";
import type { MeshObject } from "../random-mesh.js";
import type { CauseContext, Pair } from "./cause.js";
import { causes } from "./causes.js";
import { explainDifferences } from "./explain-differences.js";
import type { Resources } from "./resources.js";

/** Counts equal and different resources, those with each cause of differences, and other differences by their paths. */
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

  add(namespace: string, objects: readonly MeshObject[], theirs: Resources, ours: Resources): void {
    for (const type of Object.keys(grpcTypes) as GrpcTypeName[])
      for (const name of new Set([...Object.keys(theirs[type]), ...Object.keys(ours[type])]))
        this.#compare(type, [theirs[type][name], ours[type][name]], namespace, { name, objects });
  }

  #compare(type: GrpcTypeName, pair: Pair, namespace: string, context: CauseContext): void {
    const { explained, unexplained } = explainDifferences(causes, type, pair, context);
    const where = `${namespace} ${context.name}`;
    const isEqual = explained.length === 0 && unexplained.length === 0;
    this.#count(`${type}: ${isEqual ? "equal" : "different"}`);
    for (const { cause, difference } of explained) {
      const key = `${type}: different, ${cause}`;
      this.#count(key);
      this.#example(key, where, difference);
    }
    if (unexplained.length > 0) this.unexplained++;
    for (const each of unexplained) {
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
    for (const key of [...this.#counts.keys()].sort()) {
      console.log(`${this.#counts.get(key)} ${key}`);
      for (const example of this.#examples.get(key) ?? []) console.log(`    ${example}`);
    }
  }
}

const text = (value: unknown): string => (JSON.stringify(value) ?? "absent").slice(0, 700);

/** Returns a path without names and indexes. */
const general = (path: string): string =>
  path
    .replaceAll(/\/\d+(?=\/|$)/g, "/*")
    .replaceAll(/\[[^\]]*\]/g, "[]")
    .replaceAll(/\/[^/]*\|[^/]*/g, "/|");
