import { spend } from "../budget.js";
import { defaultText } from "../format/value-text.js";
import { isTrue } from "../values/truth.js";
import { floatToInteger, parseFloat64, parseInteger } from "../values/numbers.js";
import { integerOf, typeOf } from "../values/type-of.js";
import { GoInteger, GoList, GoStruct, type Value } from "../values/values.js";

/** Go's message for the use of nil where a value is needed. */
export const nilDereference = "runtime error: invalid memory address or nil pointer dereference";

/** Returns a value as an integer of 64 bits; 0 if it is not a number. */
export function toInt64(value: Value): bigint {
  switch (typeof value) {
    case "number":
      return floatToInteger(value);
    case "boolean":
      return value ? 1n : 0n;
    case "string":
      return parseInteger(value.replace(/\.0+$/, "")) ?? 0n;
    default:
      return BigInt.asIntN(64, integerOf(value) ?? 0n);
  }
}

/** Returns a value as a float; 0 if it is not a number. */
export function toFloat64(value: Value): number {
  switch (typeof value) {
    case "number":
      return value;
    case "boolean":
      return value ? 1 : 0;
    case "string":
      return parseFloat64(value) ?? 0;
    default:
      return Number(integerOf(value) ?? 0n);
  }
}

/** Returns a value as text; bytes as the string that they encode. */
export function toText(value: Value): string {
  if (value instanceof GoList && value.type.element?.kind === "uint8")
    return Buffer.from(value.items.map((item) => (item instanceof GoInteger ? Number(item.value) : 0))).toString();
  return defaultText(value);
}

/** Returns the elements of a list as text, without those that are nil; any other value as the only element. */
export function toTexts(value: Value): readonly string[] {
  if (value === null) return [];
  if (!(value instanceof GoList)) return [toText(value)];
  spend(value.items.length);
  return value.items.filter((item) => item !== null).map(toText);
}

/** Reports whether a value is the zero value of its type, or an empty list, map or string. */
export function isEmptyValue(value: Value): boolean {
  if (value instanceof GoStruct) return false;
  return !isTrue(value ?? undefined);
}

/**
 * Returns the elements of a list.
 *
 * @throws Error for nil and for other values
 */
export function itemsOf(value: Value, verb: string): readonly Value[] {
  if (value instanceof GoList) {
    spend(value.items.length);
    return value.items;
  }
  if (value === null) throw new Error(nilDereference);
  throw new Error(`Cannot ${verb} type ${typeOf(value).kind}`);
}
