import { type JsonDifference, jsonDifferences } from "@istiod/explain";
import type { Cause, Pair } from "./cause.js";

/** The differences of two resources: those of each known cause, and those without. */
export interface ExplainedDifferences {
  /** The causes that the pair has, each with the first of the differences that were left before it. */
  readonly explained: readonly { readonly cause: string; readonly difference: JsonDifference | undefined }[];
  readonly unexplained: readonly JsonDifference[];
}

/** Removes the differences of one cause after the other, and returns what is left. */
export function explainDifferences<Type extends string, Context>(
  causes: readonly Cause<Type, Context>[],
  type: Type,
  resources: Pair,
  context: Context,
): ExplainedDifferences {
  let pair = resources;
  let unexplained = differencesOf(pair);
  const explained: { cause: string; difference: JsonDifference | undefined }[] = [];
  for (const cause of causes) {
    if (unexplained.length === 0) break;
    if (cause.type !== type) continue;
    const without = cause.without(pair, context);
    const left = differencesOf(without);
    if (JSON.stringify(left) === JSON.stringify(unexplained)) continue;
    explained.push({ cause: cause.name, difference: unexplained[0] });
    [pair, unexplained] = [without, left];
  }
  return { explained, unexplained };
}

const differencesOf = ([theirs, ours]: Pair): readonly JsonDifference[] =>
  jsonDifferences(theirs && sorted(theirs), ours && sorted(ours));

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
