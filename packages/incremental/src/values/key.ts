import { IncrementalError } from "../errors.js";

/** What may be the argument of a query or fact: plain data whose identity is its content. */
export type Key = string | number | boolean | null | undefined | readonly Key[] | { readonly [name: string]: Key };

/**
 * The canonical text of a key: equal for equal keys, different for different ones. The order of an object's properties does not count,
 * and a property that is `undefined` counts as absent. Throws an `IncrementalError` with code `key` for anything that is not plain data.
 */
export function canonicalKey(key: unknown): string {
  switch (typeof key) {
    case "string":
      return quoted(key);
    case "number":
      return key === 0 ? "0" : String(key);
    case "boolean":
      return key ? "true" : "false";
    case "undefined":
      return "undefined";
    case "bigint":
      return `${key}n`;
    case "object":
      return key === null ? "null" : Array.isArray(key) ? canonicalArray(key) : canonicalObject(key);
    default:
      throw new IncrementalError("key", `a ${typeof key} is no key: expected plain data`);
  }
}

const special = /["\\\u0000-\u001f]/;

function quoted(text: string): string {
  return special.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function canonicalArray(array: readonly unknown[]): string {
  let text = "[";
  for (let i = 0; i < array.length; i++) text += i === 0 ? canonicalKey(array[i]) : `,${canonicalKey(array[i])}`;
  return `${text}]`;
}

function canonicalObject(object: object): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new IncrementalError("key", `a ${object.constructor?.name ?? "class instance"} is no key: expected plain data`);
  }
  const record = object as Record<string, unknown>;
  let text = "{";
  for (const name of sortedNames(record)) {
    const value = record[name];
    if (value === undefined) continue;
    text += `${text.length > 1 ? "," : ""}${quoted(name)}:${canonicalKey(value)}`;
  }
  return `${text}}`;
}

function sortedNames(record: object): string[] {
  const names = Object.keys(record);
  for (let i = 1; i < names.length; i++) if ((names[i - 1] as string) > (names[i] as string)) return names.sort();
  return names;
}

/** The form under which a key is looked up in a `Map`: itself where it is a primitive, its canonical text otherwise. */
export type LookupKey = string | number | boolean | null | undefined | bigint;

const objectMark = "\u0000";

/** Primitives stand for themselves; texts that could be taken for an object's are marked, so that none collide. */
export function lookupKey(key: unknown): LookupKey {
  if (typeof key === "string") return key.charCodeAt(0) === 0 ? `${objectMark}s${key}` : key;
  if (key === undefined || key === null || typeof key === "number" || typeof key === "boolean" || typeof key === "bigint") return key;
  return objectMark + canonicalKey(key);
}
