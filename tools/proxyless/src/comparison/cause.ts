import type { JsonObject } from "@bufbuild/protobuf";
import type { GrpcTypeName } from "@istiod/bench";
import type { MeshObject } from "../random-mesh.js";

/** A resource of Istio and of this control plane; undefined if one has none. */
export type Pair = readonly [theirs: JsonObject | undefined, ours: JsonObject | undefined];

/** A difference on purpose (docs/proxyless-grpc.md). */
export interface Cause {
  /** The name in the table of docs/proxyless-grpc.md. */
  readonly name: string;
  readonly type: GrpcTypeName;
  /** Returns the resources without the difference, and the same pair if they do not have exactly this one. */
  readonly without: (pair: Pair, context: CauseContext) => Pair;
}

export interface CauseContext {
  /** The name of the resource. */
  readonly name: string;
  /** The objects that both control planes read. */
  readonly objects: readonly MeshObject[];
}

/** Applies a function to both resources, if there are both. */
export const both =
  (change: (resource: JsonObject) => JsonObject): Cause["without"] =>
  ([theirs, ours]) =>
    theirs && ours ? [change(theirs), change(ours)] : [theirs, ours];

/** Returns a value without some fields, at any depth. */
export function omit(value: unknown, isOmitted: (key: string, value: unknown) => boolean): never {
  if (Array.isArray(value)) return value.map((each) => omit(each, isOmitted) as unknown) as never;
  if (typeof value !== "object" || value === null) return value as never;
  const kept = Object.entries(value).filter(([key, inner]) => !isOmitted(key, inner));
  return Object.fromEntries(kept.map(([key, inner]) => [key, omit(inner, isOmitted) as unknown])) as never;
}
