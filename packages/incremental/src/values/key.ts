import { IncrementalError } from "../errors.js";

/** An argument of a query or fact: plain data, identified by its content. */
export type Key = string | number | boolean | null | undefined | readonly Key[] | { readonly [name: string]: Key };

/**
 * Returns the canonical text of a key: equal for equal keys, and different for different ones. The order of properties
 * does not matter, and a property that is `undefined` counts as absent. Throws an `IncrementalError` with code `key`
 * for anything that is not plain data.
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
      throw new IncrementalError("key", `a ${typeof key} is not a key: expected plain data`);
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
  requirePlain(object);
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

/** Throws an `IncrementalError` with code `key` for anything that is not plain data. */
export function requireKey(key: unknown): void {
  if (typeof key === "function" || typeof key === "symbol")
    throw new IncrementalError("key", `a ${typeof key} is not a key: expected plain data`);
  if (typeof key !== "object" || key === null) return;
  if (Array.isArray(key)) {
    for (let i = 0; i < key.length; i++) requireKey(key[i]);
    return;
  }
  requirePlain(key);
  for (const name in key) requireKey((key as Record<string, unknown>)[name]);
}

/** Reports whether a value is a key with the same canonical text as a known key. False if it is not plain data. */
export function sameKey(known: unknown, key: unknown): boolean {
  if (known === key) return true;
  if (typeof known !== "object" || typeof key !== "object" || known === null || key === null)
    return known !== known && key !== key;
  if (Array.isArray(known)) return Array.isArray(key) && sameItems(known, key);
  return (
    !Array.isArray(key) &&
    isPlain(key) &&
    sameProperties(known as Record<string, unknown>, key as Record<string, unknown>)
  );
}

function sameItems(known: readonly unknown[], key: readonly unknown[]): boolean {
  if (known.length !== key.length) return false;
  for (let i = 0; i < known.length; i++) if (!sameKey(known[i], key[i])) return false;
  return true;
}

function sameProperties(known: Record<string, unknown>, key: Record<string, unknown>): boolean {
  let more = 0;
  for (const name in key) {
    const value = key[name];
    if (value === undefined) continue;
    if (!sameKey(name === "__proto__" && !Object.hasOwn(known, name) ? undefined : known[name], value)) return false;
    more++;
  }
  for (const name in known) if (known[name] !== undefined) more--;
  return more === 0;
}

function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null;
}

function requirePlain(object: object): void {
  if (!isPlain(object))
    throw new IncrementalError(
      "key",
      `a ${object.constructor?.name ?? "class instance"} is not a key: expected plain data`,
    );
}
