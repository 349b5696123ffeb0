/** A JSON object without prototype, so that `__proto__` and `constructor` are keys as others. */
export type JsonObject = Record<string, unknown>;

/** Returns a JSON object with the entries. */
export function jsonObject(entries: Iterable<readonly [string, unknown]> = []): JsonObject {
  const object = Object.create(null) as JsonObject;
  for (const [key, value] of entries) object[key] = value;
  return object;
}

/** Returns a value if it is a JSON object; undefined for arrays, scalars and null. */
export const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;

/** Returns a copy that shares nothing. `undefined` members are dropped. */
export function copyJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyJson) as T;
  const object = asObject(value);
  if (object === undefined) return value;
  const copy = jsonObject();
  for (const key of Object.keys(object)) {
    const item = object[key];
    if (item !== undefined) copy[key] = copyJson(item);
  }
  return copy as T;
}

/** Names a value's type in JSON, for messages. */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
