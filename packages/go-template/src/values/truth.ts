import { type Operand, unwrap } from "./operand.js";
import { GoInteger, GoList, GoMap, GoPointer } from "./values.js";

/** Reports whether an operand is true: not the zero value of its type. Structs and functions are always true. */
export function isTrue(operand: Operand): boolean {
  const value = unwrap(operand);
  switch (typeof value) {
    case "undefined":
      return false;
    case "boolean":
      return value;
    case "string":
      return value !== "";
    case "number":
      return value !== 0;
    case "bigint":
      return value !== 0n;
    default:
      if (value instanceof GoInteger) return value.value !== 0n;
      if (value instanceof GoList) return value.items.length > 0;
      if (value instanceof GoMap) return value.entries.size > 0;
      return !(value instanceof GoPointer) || value.target !== null;
  }
}
