import { Interface, type Operand, operandType, readAs, unwrap, zeroOf } from "../values/operand.js";
import { anyType, stringType } from "../values/known-types.js";
import { GoMap, GoPointer, GoStruct } from "../values/values.js";
import type { GoFunction } from "../values/values.js";

/** Treatment of keys that a map lacks: `<no value>`, the zero value of the map's elements, or an error. */
export type MissingKey = "default" | "zero" | "error";

/** Returns the method of a name that a receiver has; undefined if there is none. */
export function methodOf(receiver: Operand, name: string): GoFunction | undefined {
  const value = unwrap(receiver);
  return value instanceof GoStruct || value instanceof GoPointer ? value.methods.get(name) : undefined;
}

/**
 * Returns a field of a struct, or the entry of a map.
 *
 * @throws Error if the receiver has no such field
 */
export function fieldOf(receiver: Operand, name: string, hasArguments: boolean, missingKey: MissingKey): Operand {
  if (receiver === undefined) {
    if (missingKey === "error") throw new Error(`nil data; no entry for key "${name}"`);
    return undefined;
  }
  const type = operandType(receiver);
  const value = unwrap(receiver);
  if (value === undefined) throw new Error(`nil pointer evaluating ${type.name}.${name}`);
  if (value instanceof GoMap && (value.type.key ?? stringType).kind === "string") {
    if (hasArguments) throw new Error(`${name} is not a method but has arguments`);
    return entryOf(value, name, missingKey);
  }
  if (value instanceof GoPointer && value.target === null)
    throw new Error(`nil pointer evaluating ${type.name}.${name}`);
  const struct = value instanceof GoPointer ? value.target : value;
  const field = struct instanceof GoStruct ? struct.fields.get(name) : undefined;
  if (field === undefined) throw new Error(`can't evaluate field ${name} in type ${type.name}`);
  if (hasArguments) throw new Error(`${name} has arguments but cannot be invoked as function`);
  return field === null ? new Interface(null) : field;
}

function entryOf(map: GoMap, name: string, missingKey: MissingKey): Operand {
  const elementType = map.type.element ?? anyType;
  const entry = map.entries.get(name);
  if (entry !== undefined) return readAs(elementType, entry);
  if (missingKey === "error") throw new Error(`map has no entry for key ${JSON.stringify(name)}`);
  return missingKey === "zero" ? zeroOf(elementType) : undefined;
}
