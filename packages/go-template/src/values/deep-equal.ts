import { spend } from "../budget.js";
import { isFunction, typeOf } from "./type-of.js";
import { GoInteger, GoList, GoMap, GoPointer, GoStruct, type Value } from "./values.js";

/** Go's `reflect.DeepEqual`: values of different types are never equal. */
export function deepEqual(a: Value, b: Value): boolean {
  spend(1);
  if (a === null || b === null) return a === b;
  if (typeOf(a).name !== typeOf(b).name) return false;
  if (a instanceof GoInteger && b instanceof GoInteger) return a.value === b.value;
  if (a instanceof GoList && b instanceof GoList) return equalLists(a, b);
  if (a instanceof GoMap && b instanceof GoMap) return equalMaps(a, b);
  if (a instanceof GoStruct && b instanceof GoStruct)
    return [...a.fields].every(([name, value]) => deepEqual(value, b.fields.get(name) ?? null));
  if (a instanceof GoPointer && b instanceof GoPointer) return deepEqual(a.target, b.target);
  return !isFunction(a) && a === b;
}

const equalLists = (a: GoList, b: GoList): boolean =>
  a.isNil === b.isNil &&
  a.items.length === b.items.length &&
  a.items.every((item, i) => deepEqual(item, b.items[i] ?? null));

const equalMaps = (a: GoMap, b: GoMap): boolean =>
  a.isNil === b.isNil &&
  a.entries.size === b.entries.size &&
  [...a.entries].every(([key, value]) => b.entries.has(key) && deepEqual(value, b.entries.get(key) ?? null));
