import type { Manifest } from "../kinds/manifest.js";

/** A field with values at the edges of what Envoy accepts. */
export interface FieldRow {
  /** Path from the part that the table is about, such as `consistentHash.httpCookie.ttl`. */
  readonly field: string;
  /** Values that Envoy and Istio's API take. */
  readonly accepted: readonly unknown[];
  /** Values with which Envoy rejects a resource. */
  readonly refused?: readonly unknown[];
  /** Values that Istio's API refuses although Envoy may take them, and those that end Envoy, which are not offered. */
  readonly refusedByApi?: readonly unknown[];
  /** Other fields that the field needs. */
  readonly beside?: object;
  /** The path of the fault, if it is not the field's own. */
  readonly faultAt?: string;
}

/** The fields of a part of objects, with every position at which an object can have the part. */
export interface FieldTable {
  readonly part: string;
  readonly positions: Readonly<Record<string, Position>>;
  readonly rows: readonly FieldRow[];
}

export interface Position {
  /** Returns the objects with the part at this position. The first one is the object that has it. */
  readonly objects: (part: object) => readonly Manifest[];
  /** Path of the part in the object. */
  readonly path: string;
}

/** Returns a part with a value at a path, whose numbers are positions in lists. */
export function partWith(path: string, value: unknown, beside: object = {}): object {
  return merged(beside, nested(path.split("."), value)) as object;
}

function nested([first, ...rest]: readonly string[], value: unknown): unknown {
  if (first === undefined) return value;
  const inner = nested(rest, value);
  return /^\d+$/.test(first) ? [inner] : { [first]: inner };
}

function merged(a: unknown, b: unknown): unknown {
  if (Array.isArray(a) && Array.isArray(b)) return [merged(a[0], b[0]), ...a.slice(1)] as unknown[];
  if (!isObject(a) || !isObject(b)) return b;
  return {
    ...a,
    ...Object.fromEntries(Object.entries(b).map(([key, value]) => [key, key in a ? merged(a[key], value) : value])),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an object of Istio. */
export function istioObject(
  kind: string,
  spec: object,
  { namespace = "shop", name = "a", group = "networking" } = {},
): Manifest {
  return { apiVersion: `${group}.istio.io/v1`, kind, metadata: { name, namespace }, spec };
}
