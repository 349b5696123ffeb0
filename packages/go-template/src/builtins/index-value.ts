import { Interface, type Operand, readAs, toValue, unwrap, zeroOf } from "../values/operand.js";
import { byteLength, byteSlice } from "../values/strings.js";
import { integerOf, isFunction, typeOf } from "../values/type-of.js";
import { anyType, stringType } from "../values/known-types.js";
import { isIntegerKind } from "../values/types.js";
import { GoInteger, GoList, GoMap, GoPointer, type MapKey, type Value } from "../values/values.js";

/**
 * Returns the element of a list, map or string, for each of the indexes in turn.
 *
 * @throws Error if the index is out of range or has the wrong type
 */
export function indexValue(item: Operand, indexes: readonly Operand[]): Operand {
  if (unwrap(item) === undefined) throw new Error("index of untyped nil");
  return indexes.reduce((current, index) => indexOnce(current, index), unwrap(item));
}

function indexOnce(operand: Operand, index: Operand): Operand {
  const item = unwrap(operand);
  if (item === undefined || (item instanceof GoPointer && item.target === null))
    throw new Error("index of nil pointer");
  if (typeof item === "string") {
    const bytes = Buffer.from(item);
    const byte = bytes[indexWithin(index, bytes.length)];
    if (byte === undefined) throw new Error("reflect: string index out of range");
    return new GoInteger("uint8", BigInt(byte));
  }
  if (item instanceof GoList) {
    const i = indexWithin(index, item.items.length);
    if (i === item.items.length) throw new Error("reflect: slice index out of range");
    return readAs(item.type.element ?? anyType, item.items[i] ?? null);
  }
  if (!(item instanceof GoMap)) throw new Error(`can't index item of type ${typeOf(targetOf(item)).name}`);
  const elementType = item.type.element ?? anyType;
  const value = item.entries.get(keyOf(item, index));
  return value === undefined ? zeroOf(elementType) : readAs(elementType, value);
}

function keyOf({ type: { key = stringType } }: GoMap, index: Operand): MapKey {
  const value = unwrap(index);
  if (value === undefined) throw new Error(`value is nil; should be of type ${key.name}`);
  const integer = integerOf(value);
  if (integer !== undefined && isIntegerKind(key.kind)) return integer;
  if (typeof value === "string" && key.kind === "string") return value;
  throw new Error(`value has type ${typeOf(value).name}; should be ${key.name}`);
}

function indexWithin(index: Operand, capacity: number): number {
  const value = unwrap(index);
  if (value === undefined) throw new Error("cannot index slice/array with nil");
  const integer = integerOf(value);
  if (integer === undefined) throw new Error(`cannot index slice/array with type ${typeOf(value).name}`);
  if (integer < 0n || integer > BigInt(capacity)) throw new Error(`index out of range: ${BigInt.asIntN(64, integer)}`);
  return Number(integer);
}

/**
 * Returns the part of a list or string between two indexes.
 *
 * @throws Error if an index is out of range
 */
export function sliceValue(operand: Operand, indexes: readonly Operand[]): Operand {
  const item = unwrap(operand);
  if (item === undefined) throw new Error("slice of untyped nil");
  if (item instanceof GoPointer && item.target === null) throw new Error("slice of nil pointer");
  if (indexes.length > 3) throw new Error(`too many slice indexes: ${indexes.length}`);
  if (typeof item === "string" && indexes.length === 3) throw new Error("cannot 3-index slice a string");
  if (typeof item !== "string" && !(item instanceof GoList))
    throw new Error(`can't slice item of type ${typeOf(item).name}`);
  const length = typeof item === "string" ? byteLength(item) : item.items.length;
  const [start = 0, end = length, capacity = length] = indexes.map((index) => {
    // Unlike `index`, Go's `slice` does not look into a location of type `interface {}`.
    if (index instanceof Interface) throw new Error("cannot index slice/array with type interface {}");
    return indexWithin(index, length);
  });
  if (start > end) throw new Error(`invalid slice index: ${start} > ${end}`);
  if (end > capacity) throw new Error(`invalid slice index: ${end} > ${capacity}`);
  return typeof item === "string"
    ? byteSlice(item, start, end)
    : new GoList(item.type, item.isNil ? null : item.items.slice(start, end));
}

/**
 * Returns the length of a list, map or string.
 *
 * @throws Error for other values
 */
export function lengthOf(operand: Operand): bigint {
  const item = unwrap(operand);
  if (typeof item === "string") return BigInt(byteLength(item));
  if (item instanceof GoList) return BigInt(item.items.length);
  if (item instanceof GoMap) return BigInt(item.entries.size);
  if (operand === undefined) throw new Error("reflect: call of reflect.Value.Type on zero Value");
  if (item === undefined || (item instanceof GoPointer && item.target === null)) throw new Error("len of nil pointer");
  throw new Error(`len of type ${typeOf(targetOf(item)).name}`);
}

const targetOf = (item: Exclude<Value, null>): Exclude<Value, null> =>
  item instanceof GoPointer ? (item.target ?? item) : item;

/**
 * Calls a function that is a value.
 *
 * @throws Error if it is not a function, or if an argument has the wrong type
 */
export function callValue(name: string, operand: Operand, args: readonly Operand[]): Operand {
  const callee = unwrap(operand);
  if (callee === undefined) throw new Error("call of nil");
  if (!isFunction(callee)) throw new Error(`non-function ${name} of type ${typeOf(callee).name}`);
  const { parameters, rest, result } = callee;
  const count = parameters.length;
  if (rest !== undefined && args.length < count)
    throw new Error(`wrong number of args for ${name}: got ${args.length} want at least ${count}`);
  if (rest === undefined && args.length !== count)
    throw new Error(`wrong number of args for ${name}: got ${args.length} want ${count}`);
  const values = args.map((arg, i) => {
    const type = parameters[i] ?? rest ?? anyType;
    const value = unwrap(arg);
    if (type.kind === "interface") return toValue(arg);
    if (value === undefined) {
      const zero = zeroOf(type);
      if (typeof zero !== "object") throw new Error(`arg ${i}: value is nil; should be of type ${type.name}`);
      return toValue(zero);
    }
    if (typeOf(value).name === type.name) return value;
    const integer = integerOf(value);
    if (integer !== undefined && isIntegerKind(type.kind))
      return type.kind === "int" ? BigInt.asIntN(64, integer) : new GoInteger(type.kind, integer);
    throw new Error(`arg ${i}: value has type ${typeOf(value).name}; should be ${type.name}`);
  });
  return readAs(result, callee.call(values));
}
