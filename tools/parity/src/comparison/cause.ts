import type { JsonObject } from "@bufbuild/protobuf";

/** A resource or a status of Istio and of this control plane; undefined if one has none. */
export type Pair = readonly [theirs: JsonObject | undefined, ours: JsonObject | undefined];

/** A difference on purpose, in resources of a type. `Context` tells what the resources were computed from. */
export interface Cause<Type extends string, Context> {
  /** The name in the table of the documentation. */
  readonly name: string;
  readonly type: Type;
  /** Returns the resources without the difference, and the same pair if they do not have exactly this one. */
  readonly without: (pair: Pair, context: Context) => Pair;
}

/** Applies a function to both resources, if there are both. */
export const both =
  (change: (resource: JsonObject) => JsonObject): ((pair: Pair) => Pair) =>
  ([theirs, ours]) =>
    theirs && ours ? [change(theirs), change(ours)] : [theirs, ours];

/** Returns a value without some fields, at any depth. */
export function omit(value: unknown, isOmitted: (key: string, value: unknown) => boolean): never {
  if (Array.isArray(value)) return value.map((each) => omit(each, isOmitted) as unknown) as never;
  if (typeof value !== "object" || value === null) return value as never;
  const kept = Object.entries(value).filter(([key, inner]) => !isOmitted(key, inner));
  return Object.fromEntries(kept.map(([key, inner]) => [key, omit(inner, isOmitted) as unknown])) as never;
}
