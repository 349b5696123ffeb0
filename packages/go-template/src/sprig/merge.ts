import { spend } from "../budget.js";
import { isEmptyValue } from "./casts.js";
import { GoList, GoMap, type Value } from "../values/values.js";

/** Adds the entries of a map to another one, as mergo does: entries that are empty, or all if it overwrites. */
export function merge(target: GoMap, source: GoMap, overwrites: boolean): void {
  for (const [key, value] of source.entries) {
    spend(1);
    const existing = target.entries.get(key);
    if (value === null) {
      if (overwrites) target.entries.set(key, null);
      continue;
    }
    if (value instanceof GoMap && existing instanceof GoMap && !existing.isNil) merge(existing, value, overwrites);
    const isEmpty = existing === undefined || isEmptyValue(existing);
    if (value instanceof GoList && existing !== undefined && existing !== null) {
      if (overwrites) target.entries.set(key, value);
      if (!isEmpty) continue;
    }
    if (!isEmpty && isMap(value) && isMap(existing)) continue;
    if (overwrites || isEmpty) target.entries.set(key, value);
  }
}

const isMap = (value: Value | undefined): boolean => value instanceof GoMap;
