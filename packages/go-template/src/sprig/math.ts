import { type Functions, goFunction, variadicFunction } from "../functions.js";
import { defaultText } from "../format/value-text.js";
import { anyType, float64Type, integerTypes, stringType } from "../values/known-types.js";
import { parseInteger } from "../values/numbers.js";
import type { Value } from "../values/values.js";
import { toFloat64, toInt64 } from "./casts.js";
import { add, type Decimal, decimalOf, divide, multiply, subtract, toNumber } from "./decimal.js";

const { int, int64 } = integerTypes;

/** Functions of numbers. */
export const mathFunctions: Functions = {
  atoi: goFunction([stringType], int, (text) => parseInteger(text, 10) ?? 0n),
  int: goFunction([anyType], int, toInt64),
  int64: goFunction([anyType], int64, toInt64),
  float64: goFunction([anyType], float64Type, toFloat64),
  toDecimal: goFunction([anyType], int64, (value) => parseInteger(defaultText(value), 8) ?? 0n),
  add1: goFunction([anyType], int64, (value) => toInt64(value) + 1n),
  add: variadicFunction([], anyType, int64, (values) =>
    values.reduce<bigint>((sum, value) => sum + toInt64(value), 0n),
  ),
  sub: goFunction([anyType, anyType], int64, (a, b) => toInt64(a) - toInt64(b)),
  div: goFunction([anyType, anyType], int64, (a, b) => toInt64(a) / nonZero(b)),
  mod: goFunction([anyType, anyType], int64, (a, b) => toInt64(a) % nonZero(b)),
  mul: variadicFunction([anyType], anyType, int64, (first, values) =>
    values.reduce<bigint>((product, value) => BigInt.asIntN(64, product * toInt64(value)), toInt64(first)),
  ),
  max: extreme((a, b) => a > b),
  biggest: extreme((a, b) => a > b),
  min: extreme((a, b) => a < b),
  maxf: variadicFunction([anyType], anyType, float64Type, (first, values) =>
    Math.max(...[first, ...values].map(toFloat64)),
  ),
  minf: variadicFunction([anyType], anyType, float64Type, (first, values) =>
    Math.min(...[first, ...values].map(toFloat64)),
  ),
  ceil: goFunction([anyType], float64Type, (value) => Math.ceil(toFloat64(value))),
  floor: goFunction([anyType], float64Type, (value) => Math.floor(toFloat64(value))),
  round: variadicFunction([anyType, int], float64Type, float64Type, (value, places, [threshold = 0.5]) =>
    round(toFloat64(value), Number(places), threshold),
  ),
  add1f: goFunction([anyType], float64Type, (value) => decimals(add, value, [1n])),
  addf: variadicFunction([], anyType, float64Type, (values) => decimals(add, 0, values)),
  subf: variadicFunction([anyType], anyType, float64Type, (first, values) => decimals(subtract, first, values)),
  mulf: variadicFunction([anyType], anyType, float64Type, (first, values) => decimals(multiply, first, values)),
  divf: variadicFunction([anyType], anyType, float64Type, (first, values) => decimals(divide, first, values)),
};

function extreme(isBetter: (a: bigint, b: bigint) => boolean) {
  return variadicFunction([anyType], anyType, int64, (first, values) =>
    values.map(toInt64).reduce((best, value) => (isBetter(value, best) ? value : best), toInt64(first)),
  );
}

function nonZero(value: Value): bigint {
  const divisor = toInt64(value);
  if (divisor === 0n) throw new Error("runtime error: integer divide by zero");
  return divisor;
}

function round(value: number, places: number, threshold: number): number {
  const power = 10 ** places;
  const scaled = power * value;
  const fraction = scaled - Math.trunc(scaled);
  return (fraction >= threshold ? Math.ceil(scaled) : Math.floor(scaled)) / power;
}

const decimals = (operation: (a: Decimal, b: Decimal) => Decimal, first: Value, values: readonly Value[]): number =>
  toNumber(values.map((value) => decimalOf(toFloat64(value))).reduce(operation, decimalOf(toFloat64(first))));
