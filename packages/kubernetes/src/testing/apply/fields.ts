import { equalJson, isJsonObject, type JsonObject, setField } from "../storage/object.js";
import { emptySet, type FieldSet, fieldSet, memberOnly, union } from "./field-set.js";
import { type FieldSchema, itemKey } from "./field-schema.js";

/** Entries of a map or a granular list, by path element. Undefined for everything that is owned as a whole. */
interface Entry {
  readonly value: unknown;
  readonly schema: FieldSchema;
  readonly isDeclared: boolean;
}

function entriesOf(value: unknown, schema: FieldSchema): ReadonlyMap<string, Entry> | undefined {
  if (isJsonObject(value)) {
    if (schema.isAtomicMap) return undefined;
    return new Map(
      Object.entries(value).map(([name, item]) => [
        `f:${name}`,
        { value: item, schema: schema.field(name), isDeclared: schema.isDeclared(name) },
      ]),
    );
  }
  if (!Array.isArray(value) || schema.list === "atomic") return undefined;
  const { list } = schema;
  const entries = value.map((item: unknown) => [itemKey(item, list), item] as const);
  if (entries.some(([key]) => key === undefined)) return undefined;
  return new Map(entries.map(([key = "", item]) => [key, { value: item, schema: schema.item(), isDeclared: false }]));
}

const isEmptyContainer = (value: unknown): boolean =>
  value === null || (isJsonObject(value) && Object.keys(value).length === 0);

/** Returns the fields that an applied configuration contains. */
export function fieldsOf(value: unknown, schema: FieldSchema): FieldSet {
  const entries = entriesOf(value, schema);
  if (entries === undefined) return memberOnly;
  return fieldSet(
    false,
    [...entries].map(([key, entry]) => {
      const below = fieldsOf(entry.value, entry.schema);
      const isItem = !key.startsWith("f:");
      const isOwned = below.isMember || isItem || isEmptyContainer(entry.value) || !entry.isDeclared;
      return [key, { ...below, isMember: isOwned }] as const;
    }),
  );
}

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const unchanged: Comparison = { added: emptySet, modified: emptySet, removed: emptySet };

/** Compares two values. A map or list that appears or disappears is itself among the added or removed fields. */
export function compareFields(before: unknown, after: unknown, schema: FieldSchema): Comparison {
  if (equalJson(before, after)) return unchanged;
  const isAdded = before === undefined;
  const isRemoved = after === undefined;
  const left = isAdded ? new Map<string, Entry>() : entriesOf(before, schema);
  const right = isRemoved ? new Map<string, Entry>() : entriesOf(after, schema);
  if (left === undefined || right === undefined) {
    if (isAdded) return { ...unchanged, added: memberOnly };
    return isRemoved ? { ...unchanged, removed: memberOnly } : { ...unchanged, modified: memberOnly };
  }
  const children = [...new Set([...left.keys(), ...right.keys()])].map((key) => {
    const [old, next] = [left.get(key), right.get(key)];
    const entrySchema = (next ?? old)?.schema ?? schema;
    return [key, compareFields(old?.value, next?.value, entrySchema)] as const;
  });
  const collect = (part: keyof Comparison, isMember: boolean): FieldSet =>
    fieldSet(
      isMember,
      children.map(([key, comparison]) => [key, comparison[part]] as const),
    );
  return {
    added: collect("added", isAdded),
    modified: collect("modified", false),
    removed: collect("removed", isRemoved),
  };
}

/** Returns `live` with the values of `config`, which win. Items of granular lists are merged by key. */
export function mergeConfig(live: unknown, config: unknown, schema: FieldSchema): unknown {
  if (isJsonObject(live) && isJsonObject(config) && !schema.isAtomicMap) {
    const merged: JsonObject = { ...live };
    for (const [name, value] of Object.entries(config)) {
      const current = Object.hasOwn(live, name) ? live[name] : undefined;
      setField(merged, name, mergeConfig(current, value, schema.field(name)));
    }
    return merged;
  }
  if (!Array.isArray(live) || !Array.isArray(config) || schema.list === "atomic") return config;
  const liveItems = entriesOf(live, schema);
  const configItems = entriesOf(config, schema);
  if (liveItems === undefined || configItems === undefined) return config;
  return orderOfMerge([...liveItems.keys()], [...configItems.keys()]).map((key) => {
    const [current, applied] = [liveItems.get(key), configItems.get(key)];
    if (applied === undefined) return current?.value;
    return current === undefined ? applied.value : mergeConfig(current.value, applied.value, schema.item());
  });
}

/** Orders applied items as the configuration has them, each after the live items that precede it. */
function orderOfMerge(live: readonly string[], config: readonly string[]): readonly string[] {
  const order: string[] = [];
  const applied = new Set(config);
  let next = 0;
  for (const key of live) {
    if (!applied.has(key)) {
      order.push(key);
      continue;
    }
    const at = config.indexOf(key);
    if (at >= next) {
      order.push(...config.slice(next, at + 1));
      next = at + 1;
    }
  }
  order.push(...config.slice(next));
  return order;
}

/** Returns a value without the members of a set. Maps and lists that only the set kept alive disappear with it. */
export function removeFields(value: unknown, removed: FieldSet, kept: FieldSet, schema: FieldSchema): unknown {
  const entries = entriesOf(value, schema);
  if (entries === undefined) return value;
  const remaining = [...entries].flatMap(([key, entry]) => {
    const remove = removed.children.get(key);
    if (remove === undefined) return [[key, entry.value] as const];
    const keep = kept.children.get(key) ?? emptySet;
    const isKept = keep.isMember || keep.children.size > 0;
    if (!isKept && (remove.isMember || entriesOf(entry.value, entry.schema) === undefined)) return [];
    const below = removeFields(entry.value, remove, keep, entry.schema);
    const isHollow = isEmptyContainer(below) || (Array.isArray(below) && below.length === 0);
    return isHollow && !isKept ? [] : [[key, below] as const];
  });
  if (Array.isArray(value)) return remaining.map(([, item]) => item);
  const object: JsonObject = {};
  for (const [key, item] of remaining) setField(object, key.slice(2), item);
  return object;
}

/** Returns all fields that changed or appeared. */
export const writtenFields = ({ added, modified }: Comparison): FieldSet => union(added, modified);
