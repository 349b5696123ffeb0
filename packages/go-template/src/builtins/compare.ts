import { compareStrings } from "../values/strings.js";
import { type Operand, unwrap } from "../values/operand.js";
import { integerOf, isFunction, typeOf } from "../values/type-of.js";
import { type Kind, isSignedKind, isUnsignedKind } from "../values/types.js";
import { GoList, GoMap, GoPointer, GoStruct, type Value } from "../values/values.js";
import { deepEqual } from "../values/deep-equal.js";
import { plainDirective } from "../format/directive.js";
import { defaultText, valueText } from "../format/value-text.js";

type Present = Exclude<Value, null>;
type BasicKind = "bool" | "int" | "uint" | "float" | "string";

/**
 * Reports whether the first operand equals one of the others.
 *
 * @throws Error if there is none, or if two cannot be compared
 */
export function equal(first: Operand, others: readonly Operand[]): boolean {
  if (others.length === 0) throw new Error("missing argument for comparison");
  const a = unwrap(first);
  return others.some((other) => equalTwo(a, unwrap(other)));
}

function equalTwo(a: Present | undefined, b: Present | undefined): boolean {
  const kind = basicKind(a);
  if (kind !== basicKind(b)) {
    if (a === undefined || b === undefined) return false;
    const [x, y] = [integerOf(a), integerOf(b)];
    if (x !== undefined && y !== undefined) return x === y;
    throw new Error(`incompatible types for comparison: ${typeOf(a).name} and ${typeOf(b).name}`);
  }
  if (kind === "int" || kind === "uint") return integerOf(a ?? null) === integerOf(b ?? null);
  return kind === undefined ? equalOthers(a, b) : a === b;
}

/** Compares values that are neither numbers, strings nor booleans. */
function equalOthers(a: Present | undefined, b: Present | undefined): boolean {
  if (a !== undefined && b !== undefined && typeOf(a).kind !== typeOf(b).kind)
    throw new Error(`non-comparable types ${asString(a)}: ${typeOf(a).name}, ${typeOf(b).name}: ${defaultText(b)}`);
  if (isNil(a) || isNil(b)) return isNil(a) && isNil(b);
  if (a === undefined || b === undefined) return false;
  if (b instanceof GoList || b instanceof GoMap || isFunction(b))
    throw new Error(`non-comparable type ${asString(b)}: ${typeOf(b).name}`);
  if (a instanceof GoStruct && b instanceof GoStruct) return deepEqual(a, b);
  return a instanceof GoPointer && b instanceof GoPointer && a.target === b.target;
}

const asString = (value: Present): string => valueText(value, plainDirective("s"));

function isNil(value: Present | undefined): boolean {
  if (value === undefined) return true;
  if (value instanceof GoList || value instanceof GoMap) return value.isNil;
  return value instanceof GoPointer && value.target === null;
}

/**
 * Reports whether the first operand is less than the second.
 *
 * @throws Error if they cannot be ordered
 */
export function less(first: Operand, second: Operand): boolean {
  const [a, b] = [unwrap(first), unwrap(second)];
  const [kind, otherKind] = [basicKind(a), basicKind(b)];
  if (a === undefined || b === undefined || kind === undefined || otherKind === undefined)
    throw new Error("invalid type for comparison");
  const [x, y] = [integerOf(a), integerOf(b)];
  if (x !== undefined && y !== undefined) return x < y;
  if (kind !== otherKind) throw new Error(`incompatible types for comparison: ${typeOf(a).name} and ${typeOf(b).name}`);
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b) < 0;
  if (typeof a === "number" && typeof b === "number") return a < b;
  throw new Error("invalid type for comparison");
}

function basicKind(value: Present | undefined): BasicKind | undefined {
  if (value === undefined) return undefined;
  const kind: Kind = typeOf(value).kind;
  if (isSignedKind(kind)) return "int";
  if (isUnsignedKind(kind)) return "uint";
  if (kind === "float64") return "float";
  return kind === "bool" || kind === "string" ? kind : undefined;
}
