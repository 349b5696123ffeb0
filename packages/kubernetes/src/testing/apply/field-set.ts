import { isJsonObject, type JsonObject, setField } from "../storage/object.js";

/**
 * A set of fields as a tree. Keys of children are the path elements of FieldsV1: `f:name`, `k:{"name":"a"}`, `v:"x"`.
 * Field sets are never modified after they were built.
 */
export interface FieldSet {
  /** The path to this node is in the set. */
  readonly isMember: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

export const emptySet: FieldSet = { isMember: false, children: new Map() };
export const memberOnly: FieldSet = { isMember: true, children: new Map() };

export const isEmptySet = ({ isMember, children }: FieldSet): boolean => !isMember && children.size === 0;

/** Returns a set without children that are empty. */
export function fieldSet(isMember: boolean, children: Iterable<readonly [string, FieldSet]>): FieldSet {
  return { isMember, children: new Map([...children].filter(([, child]) => !isEmptySet(child))) };
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map(a.children);
  for (const [key, child] of b.children) {
    const same = children.get(key);
    children.set(key, same === undefined ? child : union(same, child));
  }
  return { isMember: a.isMember || b.isMember, children };
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return fieldSet(
    a.isMember && b.isMember,
    [...a.children].map(([key, child]) => [key, intersection(child, b.children.get(key) ?? emptySet)] as const),
  );
}

export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return fieldSet(
    a.isMember && !b.isMember,
    [...a.children].map(([key, child]) => {
      const removed = b.children.get(key);
      return [key, removed === undefined ? child : difference(child, removed)] as const;
    }),
  );
}

/** Returns `a` without the members of `b` and everything below them. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (b.isMember) return emptySet;
  return fieldSet(
    a.isMember,
    [...a.children].map(([key, child]) => {
      const removed = b.children.get(key);
      return [key, removed === undefined ? child : recursiveDifference(child, removed)] as const;
    }),
  );
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  return (
    a.isMember === b.isMember &&
    a.children.size === b.children.size &&
    [...a.children].every(([key, child]) => {
      const other = b.children.get(key);
      return other !== undefined && equalSets(child, other);
    })
  );
}

/** Returns the set of one path. */
export function pathSet(...path: readonly string[]): FieldSet {
  const [first, ...rest] = path;
  return first === undefined ? memberOnly : fieldSet(false, [[first, pathSet(...rest)]]);
}

/** Returns the set in the form of `fieldsV1`. */
export function encodeFields(set: FieldSet): JsonObject {
  const fields: JsonObject = {};
  if (set.isMember && set.children.size > 0) fields["."] = {};
  for (const [key, child] of [...set.children].sort(([a], [b]) => (a < b ? -1 : 1))) {
    setField(fields, key, encodeFields(child));
  }
  return fields;
}

/** Parses `fieldsV1` of a managed fields entry. */
export function decodeFields(fields: unknown): FieldSet {
  const decodeChild = (value: unknown): FieldSet => {
    if (!isJsonObject(value)) return memberOnly;
    const names = Object.keys(value);
    return names.length === 0 ? memberOnly : { ...decodeFields(value), isMember: names.includes(".") };
  };
  if (!isJsonObject(fields)) return emptySet;
  const children = Object.entries(fields).filter(([key]) => key !== ".");
  return fieldSet(
    false,
    children.map(([key, value]) => [key, decodeChild(value)] as const),
  );
}

/** Returns the paths of all members in the syntax of messages, for example `.spec.ports[name="http"].port`. */
export function describePaths(set: FieldSet, prefix = ""): string[] {
  const own = set.isMember && prefix !== "" ? [prefix] : [];
  return [...own, ...[...set.children].flatMap(([key, child]) => describePaths(child, prefix + describeElement(key)))];
}

function describeElement(key: string): string {
  const text = key.slice(2);
  if (key.startsWith("f:")) return `.${text}`;
  if (key.startsWith("v:")) return `[=${text}]`;
  const keys = JSON.parse(text) as JsonObject;
  return `[${Object.entries(keys)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(",")}]`;
}
