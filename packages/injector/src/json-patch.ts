import { asObject } from "./go-types/json.js";

/** An operation of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/**
 * Returns a JSON patch that turns one JSON value into another. Members of objects are patched one by one; in a list,
 * elements that are equal at its beginning and end stay, and those between are patched by position.
 */
export function createJsonPatch(from: unknown, to: unknown): readonly JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = [];
  diff(from, to, "", operations);
  return operations;
}

function diff(from: unknown, to: unknown, path: string, operations: JsonPatchOperation[]): void {
  if (areEqual(from, to)) return;
  const [before, after] = [asObject(from), asObject(to)];
  if (before !== undefined && after !== undefined) {
    for (const key of Object.keys(before))
      if (after[key] === undefined) operations.push({ op: "remove", path: `${path}/${escape(key)}` });
    for (const [key, value] of Object.entries(after)) {
      if (value === undefined) continue;
      const place = `${path}/${escape(key)}`;
      if (before[key] === undefined) operations.push({ op: "add", path: place, value });
      else diff(before[key], value, place, operations);
    }
  } else if (Array.isArray(from) && Array.isArray(to)) diffLists(from, to, path, operations);
  else operations.push({ op: "replace", path, value: to });
}

function diffLists(
  from: readonly unknown[],
  to: readonly unknown[],
  path: string,
  operations: JsonPatchOperation[],
): void {
  const shorter = Math.min(from.length, to.length);
  const equal = (i: number, j: number): boolean => areEqual(from[i], to[j]);
  let start = 0;
  while (start < shorter && equal(start, start)) start++;
  let end = 0;
  while (end < shorter - start && equal(from.length - 1 - end, to.length - 1 - end)) end++;
  const removed = from.length - end;
  const added = to.length - end;
  const patched = Math.min(removed, added);
  for (let i = start; i < patched; i++) diff(from[i], to[i], `${path}/${i}`, operations);
  for (let i = removed - 1; i >= added; i--) operations.push({ op: "remove", path: `${path}/${i}` });
  for (let i = removed; i < added; i++) operations.push({ op: "add", path: `${path}/${i}`, value: to[i] });
}

/** Reports whether JSON values are equal; an absent member equals an undefined one. */
function areEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => areEqual(item, b[i]));
  const [left, right] = [asObject(a), asObject(b)];
  if (left === undefined || right === undefined) return false;
  for (const key of Object.keys(left)) if (!areEqual(left[key], right[key])) return false;
  for (const key of Object.keys(right)) if (right[key] !== undefined && left[key] === undefined) return false;
  return true;
}

/** Escapes a key for a JSON pointer (RFC 6901). */
const escape = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");
