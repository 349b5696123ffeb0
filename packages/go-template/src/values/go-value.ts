import { anyMapType, anySliceType, mapOf, stringType } from "./known-types.js";
import type { GoType } from "./types.js";
import { isFunction } from "./type-of.js";
import { GoInteger, GoList, GoMap, GoPointer, GoStruct, type MapKey, type Value } from "./values.js";

/**
 * Returns a JavaScript value as Go holds it: an array as `[]interface {}`, a plain object or a `Map` as
 * `map[string]interface {}`, a `number` as `float64`, a `bigint` as `int`, `null` and `undefined` as nil. Go values in
 * it stay as they are. Only own enumerable properties are read; the value given is not changed by templates.
 *
 * @throws TypeError for other objects, and for symbols and functions
 */
export function goValue(value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (isGoValue(value)) return value;
  if (Array.isArray(value)) return new GoList(anySliceType, Array.from(value, goValue));
  if (value instanceof Map) return new GoMap(anyMapType, mapEntries(value));
  if (typeof value === "object" && isPlain(value))
    return new GoMap(
      anyMapType,
      Object.entries(value).map(([key, item]) => [key, goValue(item)] as const),
    );
  throw new TypeError(`expected a value of JSON or a Go value, got ${describe(value)}`);
}

/** Returns a slice with elements of a type. */
export const goList = (type: GoType<GoList>, items: readonly Value[] | null): GoList => new GoList(type, items);

/** Returns a map with string keys and values of a type, such as `map[string]string`. */
export const goMap = (element: GoType, entries: Readonly<Record<string, Value>> | null): GoMap =>
  new GoMap(mapOf(stringType, element), entries === null ? null : Object.entries(entries));

function* mapEntries(map: ReadonlyMap<unknown, unknown>): Generator<readonly [MapKey, Value]> {
  for (const [key, item] of map) {
    if (typeof key !== "string") throw new TypeError(`expected a string as the key of a map, got ${describe(key)}`);
    yield [key, goValue(item)];
  }
}

const isGoValue = (value: {}): value is Exclude<Value, null> =>
  ["string", "boolean", "number", "bigint"].includes(typeof value) ||
  value instanceof GoInteger ||
  value instanceof GoList ||
  value instanceof GoMap ||
  value instanceof GoStruct ||
  value instanceof GoPointer ||
  isFunction(value as Value);

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

const describe = (value: unknown): string =>
  typeof value === "object" && value !== null ? `an object of class ${value.constructor.name}` : `a ${typeof value}`;
