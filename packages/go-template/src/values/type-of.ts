import { boolType, float64Type, integerTypes, stringType } from "./known-types.js";
import type { GoType, Kind } from "./types.js";
import { GoFunction, GoInteger, type Value } from "./values.js";

/** Returns the type of a value other than nil. */
export function typeOf(value: Exclude<Value, null>): GoType {
  switch (typeof value) {
    case "string":
      return stringType;
    case "boolean":
      return boolType;
    case "number":
      return float64Type;
    case "bigint":
      return integerTypes.int;
    default:
      return value instanceof GoInteger ? integerTypes[value.kind] : value.type;
  }
}

/** Returns the kind of a value; `invalid` for nil. */
export const kindOf = (value: Value): Kind | "invalid" => (value === null ? "invalid" : typeOf(value).kind);

/** Returns the number of an integer of any type; undefined for other values. */
export function integerOf(value: Value): bigint | undefined {
  if (typeof value === "bigint") return value;
  return value instanceof GoInteger ? value.value : undefined;
}

/** Reports whether a value is a function. */
export const isFunction = (value: Value): value is GoFunction => value instanceof GoFunction;
