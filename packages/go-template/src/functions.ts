import { anyType } from "./values/known-types.js";
import { type GoType, isIntegerKind } from "./values/types.js";
import { integerOf } from "./values/type-of.js";
import { GoFunction, GoInteger, GoList, GoMap, type Value } from "./values/values.js";

/** Functions by name. */
export type Functions = Readonly<Record<string, GoFunction>>;

type Arguments<P extends readonly GoType[]> = { [K in keyof P]: P[K] extends GoType<infer T> ? T : never };

/**
 * Declares a function with a fixed number of parameters. Integers arrive as `bigint`; an integer result is converted to
 * the declared type.
 */
export function goFunction<const P extends readonly GoType[], R extends Value>(
  parameters: P,
  result: GoType<R>,
  call: (...args: Arguments<P>) => NoInfer<R>,
): GoFunction {
  const convert = parameters.map(toTypeScript);
  return new GoFunction(parameters, undefined, result, (args) =>
    fromTypeScript(result, call(...(args.map((value, i) => convert[i]?.(value)) as Arguments<P>))),
  );
}

/** Declares a function whose last parameter takes any number of arguments, as an array. */
export function variadicFunction<const P extends readonly GoType[], T, R extends Value>(
  parameters: P,
  rest: GoType<T>,
  result: GoType<R>,
  call: (...args: [...Arguments<P>, T[]]) => NoInfer<R>,
): GoFunction {
  const convert = parameters.map(toTypeScript);
  const convertRest = toTypeScript(rest);
  return new GoFunction(parameters, rest, result, (args) => {
    const fixed = convert.map((to, i) => to(args[i] ?? null));
    const further = args.slice(parameters.length).map(convertRest);
    const all: readonly unknown[] = [...fixed, further];
    return fromTypeScript(result, call(...(all as [...Arguments<P>, T[]])));
  });
}

/** Declares a function that always fails, so that templates that need it get a reason. */
export const refusedFunction = (name: string, reason: string): GoFunction =>
  new GoFunction([], anyType, anyType, () => {
    throw new Error(`${name} is not supported: ${reason}`);
  });

const toTypeScript =
  (type: GoType): ((value: Value) => unknown) =>
  (value) =>
    isIntegerKind(type.kind) ? integerOf(value) : value;

function fromTypeScript(type: GoType, value: Value): Value {
  if (value === null && type.kind === "slice") return new GoList(type, null);
  if (value === null && type.kind === "map") return new GoMap(type, null);
  if (!isIntegerKind(type.kind) || typeof value !== "bigint") return value;
  return type.kind === "int" ? BigInt.asIntN(64, value) : new GoInteger(type.kind, value);
}
