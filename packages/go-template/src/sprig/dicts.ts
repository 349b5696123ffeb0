import { spend } from "../budget.js";
import { type Functions, goFunction, variadicFunction } from "../functions.js";
import { anyMapType, anySliceType, anyType, boolType, stringSliceType, stringType } from "../values/known-types.js";
import { sortedKeys } from "../format/value-text.js";
import { typeOf } from "../values/type-of.js";
import { GoList, GoMap, type Value } from "../values/values.js";
import { toText } from "./casts.js";
import { merge } from "./merge.js";

const dict = (entries: Iterable<readonly [string, Value]>): GoMap => new GoMap(anyMapType, entries);

/** Functions of maps. `keys` and `values` are in the order of the keys; Go's order is random. */
export const dictFunctions: Functions = {
  dict: variadicFunction([], anyType, anyMapType, (values) => {
    const entries = new Map<string, Value>();
    for (let i = 0; i < values.length; i += 2) {
      const [key = null, value] = values.slice(i, i + 2);
      entries.set(toText(key), value === undefined ? "" : value);
    }
    return dict(entries);
  }),
  get: goFunction([anyMapType, stringType], anyType, ({ entries }, key) => {
    const value = entries.get(key);
    return value === undefined ? "" : value;
  }),
  set: goFunction([anyMapType, stringType, anyType], anyMapType, (map, key, value) => {
    if (map.isNil) throw new Error("assignment to entry in nil map");
    map.entries.set(key, value);
    return map;
  }),
  unset: goFunction([anyMapType, stringType], anyMapType, (map, key) => {
    map.entries.delete(key);
    return map;
  }),
  hasKey: goFunction([anyMapType, stringType], boolType, ({ entries }, key) => entries.has(key)),
  pluck: variadicFunction([stringType], anyMapType, anySliceType, (key, maps) =>
    anyList(maps.filter(({ entries }) => entries.has(key)).map(({ entries }) => entries.get(key) ?? null)),
  ),
  keys: variadicFunction(
    [],
    anyMapType,
    stringSliceType,
    (maps) =>
      new GoList(
        stringSliceType,
        maps.flatMap((map) => sortedKeys(map)),
      ),
  ),
  values: goFunction([anyMapType], anySliceType, (map) =>
    anyList(sortedKeys(map).map((key) => map.entries.get(key) ?? null)),
  ),
  pick: variadicFunction([anyMapType], stringType, anyMapType, ({ entries }, keys) =>
    dict(keys.filter((key) => entries.has(key)).map((key) => [key, entries.get(key) ?? null] as const)),
  ),
  omit: variadicFunction([anyMapType], stringType, anyMapType, ({ entries }, keys) => {
    spend(entries.size);
    const omitted = new Set(keys);
    return dict(
      [...entries].flatMap(([key, value]) => (omitted.has(String(key)) ? [] : [[String(key), value] as const])),
    );
  }),
  dig: variadicFunction([], anyType, anyType, dig),
  merge: mergeFunction(false),
  mustMerge: mergeFunction(false),
  mergeOverwrite: mergeFunction(true),
  mustMergeOverwrite: mergeFunction(true),
  deepCopy: goFunction([anyType], anyType, copyOf),
  mustDeepCopy: goFunction([anyType], anyType, copyOf),
};

const anyList = (items: readonly Value[]): GoList => new GoList(anySliceType, items);

function mergeFunction(overwrites: boolean) {
  return variadicFunction([anyMapType], anyMapType, anyType, (target, sources) => {
    const merged = target.isNil && sources.some(({ isNil }) => !isNil) ? dict([]) : target;
    for (const source of sources) merge(merged, source, overwrites);
    return merged;
  });
}

function dig(values: readonly Value[]): Value {
  if (values.length < 3) throw new Error("dig needs at least three arguments");
  const [fallback = null, start = null] = values.slice(-2);
  asDict(start);
  const names = values.slice(0, -2).map((name) => {
    if (typeof name === "string") return name;
    throw conversion(name, "string");
  });
  let value = start;
  for (const name of names) {
    const next = asDict(value).entries.get(name);
    if (next === undefined) return fallback;
    value = next;
  }
  return value;
}

function asDict(value: Value): GoMap {
  if (value instanceof GoMap && value.type.name === anyMapType.name) return value;
  throw conversion(value, anyMapType.name);
}

const conversion = (value: Value, expected: string): Error =>
  new Error(`interface conversion: interface {} is ${value === null ? "nil" : typeOf(value).name}, not ${expected}`);

function copyOf(value: Value): Value {
  if (value === null) throw new Error("reflect: call of reflect.Value.Type on zero Value");
  return deepCopy(value);
}

/** Returns a copy that shares no list or map. */
function deepCopy(value: Value): Value {
  spend(1);
  if (value instanceof GoList) return new GoList(value.type, value.isNil ? null : value.items.map(deepCopy));
  if (!(value instanceof GoMap)) return value;
  if (value.isNil) return value;
  return new GoMap(
    value.type,
    [...value.entries].map(([key, item]) => [key, deepCopy(item)] as const),
  );
}
