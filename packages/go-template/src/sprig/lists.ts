import { checkLength, spend } from "../budget.js";
import { type Functions, goFunction, variadicFunction } from "../functions.js";
import type { GoFunction } from "../values/values.js";
import { anySliceType, anyType, boolType, integerTypes, sliceOf, stringType } from "../values/known-types.js";
import { deepEqual } from "../values/deep-equal.js";
import { typeOf } from "../values/type-of.js";
import type { GoType } from "../values/types.js";
import { GoList, type Value } from "../values/values.js";
import { isEmptyValue, itemsOf, nilDereference, toInt64 } from "./casts.js";

const { int } = integerTypes;
const list = (items: readonly Value[] | null): GoList => new GoList(anySliceType, items);

/** Functions of lists. The `must` variants differ in Go in how they fail, which templates cannot tell. */
export const listFunctions: Functions = {
  list: variadicFunction([], anyType, anySliceType, list),
  tuple: variadicFunction([], anyType, anySliceType, list),
  ...both(["append", "push"], [anyType, anyType], anySliceType, (value, item) =>
    list([...itemsOf(value, "push on"), item]),
  ),
  ...both(["prepend"], [anyType, anyType], anySliceType, (value, item) =>
    list([item, ...itemsOf(value, "prepend on")]),
  ),
  ...both(["first"], [anyType], anyType, (value) => itemsOf(value, "find first on")[0] ?? null),
  ...both(["last"], [anyType], anyType, (value) => itemsOf(value, "find last on").at(-1) ?? null),
  ...both(["rest"], [anyType], anySliceType, (value) => withoutEnd(itemsOf(value, "find rest on"), 1, undefined)),
  ...both(["initial"], [anyType], anySliceType, (value) => withoutEnd(itemsOf(value, "find initial on"), 0, -1)),
  ...both(["reverse"], [anyType], anySliceType, (value) => list(itemsOf(value, "find reverse on").toReversed())),
  ...both(["compact"], [anyType], anySliceType, (value) =>
    list(itemsOf(value, "compact on").filter((item) => !isEmptyValue(item))),
  ),
  ...both(["uniq"], [anyType], anySliceType, (value) => list(unique(itemsOf(value, "find uniq on")))),
  ...both(["has"], [anyType, anyType], boolType, (needle, haystack) =>
    haystack === null ? false : isIn(itemsOf(haystack, "find has on"), needle),
  ),
  ...both(["chunk"], [int, anyType], sliceOf(anySliceType), chunk),
  ...bothVariadic("without", anySliceType, (value, omitted) =>
    list(itemsOf(value, "find without on").filter((item) => !isIn(omitted, item))),
  ),
  ...bothVariadic("slice", anyType, slice),
  concat: variadicFunction([], anyType, anyType, (lists) => {
    const items = lists.flatMap((value) => {
      if (value === null) throw new Error(nilDereference);
      if (!(value instanceof GoList)) throw new Error(`Cannot concat type ${typeOf(value).kind} as list`);
      spend(value.items.length);
      return value.items;
    });
    return list(items.length === 0 ? null : items);
  }),
};

/** Declares a function under its names, and under the same names with `must`. */
function both<const P extends readonly GoType[], R extends Value>(
  names: readonly string[],
  parameters: P,
  result: GoType<R>,
  call: Parameters<typeof goFunction<P, R>>[2],
): Record<string, GoFunction> {
  const declared = goFunction<P, R>(parameters, result, call);
  return Object.fromEntries(names.flatMap((name) => [name, mustName(name)].map((each) => [each, declared])));
}

function bothVariadic<R extends Value>(
  name: string,
  result: GoType<R>,
  call: (value: Value, rest: Value[]) => NoInfer<R>,
): Record<string, GoFunction> {
  const declared = variadicFunction([anyType], anyType, result, call);
  return { [name]: declared, [mustName(name)]: declared };
}

function mustName(name: string): string {
  return `must${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

const withoutEnd = (items: readonly Value[], start: number, end: number | undefined): GoList =>
  list(items.length === 0 ? null : items.slice(start, end));

const isIn = (items: readonly Value[], needle: Value): boolean => {
  spend(items.length);
  return items.some((item) => deepEqual(needle, item));
};

function unique(items: readonly Value[]): readonly Value[] {
  const found: Value[] = [];
  for (const item of items) if (!isIn(found, item)) found.push(item);
  return found;
}

function chunk(size: bigint, value: Value): GoList {
  const items = itemsOf(value, "chunk");
  const length = Number(size);
  const count = Math.floor((items.length - 1) / length) + 1;
  if (!(count >= 0) || count === Infinity || (count > 0 && length < 0))
    throw new Error("runtime error: makeslice: len out of range");
  const chunks = Array.from({ length: count }, (_, i) => list(items.slice(i * length, (i + 1) * length)));
  return new GoList(sliceOf(anySliceType), chunks);
}

function slice(value: Value, indexes: readonly Value[]): Value {
  if (value === null) throw new Error(nilDereference);
  if (!(value instanceof GoList)) throw new Error(`list should be type of slice or array but ${typeOf(value).kind}`);
  if (value.items.length === 0) return null;
  const start = indexes.length > 0 ? toInt64(indexes[0] ?? null) : 0n;
  const end = indexes.length > 1 ? toInt64(indexes[1] ?? null) : BigInt(value.items.length);
  if (start < 0n || start > end || end > BigInt(value.items.length))
    throw new Error("reflect.Value.Slice: slice index out of bounds");
  return new GoList(value.type, value.items.slice(Number(start), Number(end)));
}

/** Functions that return sequences of integers. */
export const sequenceFunctions: Functions = {
  until: goFunction([int], sliceOf(int), (count) => integers(sequence(0n, count, count < 0n ? -1n : 1n))),
  untilStep: goFunction([int, int, int], sliceOf(int), (start, stop, step) => integers(sequence(start, stop, step))),
  seq: variadicFunction([], int, stringType, (parameters) => sequenceText(parameters)),
};

const integers = (items: readonly bigint[]): GoList => new GoList(sliceOf(int), items);

function sequence(start: bigint, stop: bigint, step: bigint): readonly bigint[] {
  const items: bigint[] = [];
  if (step === 0n || stop < start !== step < 0n) return items;
  for (let i = start; step > 0n ? i < stop : i > stop; i += step) {
    spend(1);
    items.push(i);
  }
  return items;
}

function sequenceText(parameters: readonly bigint[]): string {
  const [first = 0n, second = 0n, third = 0n] = parameters;
  const steps = { 1: [1n, first], 2: [first, second], 3: [first, third] }[parameters.length];
  const [start, end] = steps ?? [];
  if (start === undefined || end === undefined) return "";
  const direction = end < start ? -1n : 1n;
  const step = parameters.length === 3 ? second : direction;
  if (parameters.length === 3 && direction < 0n && step > 0n) return "";
  const text = sequence(start, end + direction, step).join(" ");
  checkLength(text.length);
  return text;
}
