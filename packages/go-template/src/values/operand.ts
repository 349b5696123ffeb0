import { anyType } from "./known-types.js";
import { type GoType, isIntegerKind } from "./types.js";
import { typeOf } from "./type-of.js";
import { GoInteger, GoList, GoMap, GoPointer, type Value } from "./values.js";

/**
 * The result of an expression: a value, a value that was read from a location of type `interface {}`, or nothing
 * (`undefined`), which prints as `<no value>`. Go's `reflect.Value` makes the same distinctions.
 */
export type Operand = Exclude<Value, null> | Interface | undefined;

/** A value in a location of type `interface {}`. */
export class Interface {
  constructor(readonly value: Value) {}
}

/** Returns a value as it is read from a location of a type. */
export const readAs = (type: GoType, value: Value): Operand =>
  type.kind === "interface" || value === null ? new Interface(value) : value;

/** Returns the value without the location that it was read from; undefined for nil. */
export const unwrap = (operand: Operand): Exclude<Value, null> | undefined =>
  operand instanceof Interface ? (operand.value ?? undefined) : operand;

/** Returns the value for a parameter of type `interface {}`. */
export const toValue = (operand: Operand): Value => (operand instanceof Interface ? operand.value : (operand ?? null));

/** Returns the type of a location. */
export const operandType = (operand: Exclude<Operand, undefined>): GoType =>
  operand instanceof Interface ? anyType : typeOf(operand);

/** Returns the zero value of a type, as it is read from a location of this type. */
export function zeroOf(type: GoType): Operand {
  if (isIntegerKind(type.kind)) return type.kind === "int" ? 0n : new GoInteger(type.kind, 0n);
  switch (type.kind) {
    case "string":
      return "";
    case "bool":
      return false;
    case "float64":
      return 0;
    case "slice":
      return new GoList(type, null);
    case "map":
      return new GoMap(type, null);
    case "ptr":
      return new GoPointer(type.name.slice(1));
    case "any value":
      return undefined;
    default:
      return new Interface(null);
  }
}
