import { parseFloat64, parseInteger, parseUnsigned } from "../values/numbers.js";
import { quote, unquoteCharacter } from "../values/quote.js";

/** A number in a template, in all types that can represent it. */
export interface NumberConstant {
  readonly signed: bigint | undefined;
  readonly unsigned: bigint | undefined;
  readonly float: number | undefined;
}

/**
 * Returns the number of a character constant, such as `'a'`.
 *
 * @throws Error if it is malformed
 */
export function characterConstant(text: string): NumberConstant {
  const code = unquoteCharacter(text);
  return { signed: BigInt(code), unsigned: BigInt(code), float: code };
}

/**
 * Returns the number of a constant such as `0x1F`, `1_000` or `1e3`.
 *
 * @throws Error if the syntax is invalid, the integer overflows, or the number is complex
 */
export function numberConstant(text: string): NumberConstant {
  if (text.endsWith("i")) throw new Error(`complex numbers are not supported: ${quote(text)}`);
  const signed = parseInteger(text);
  const unsigned = parseUnsigned(text) ?? (signed === 0n ? 0n : undefined);
  const integer = signed ?? unsigned;
  if (integer !== undefined) return { signed, unsigned, float: Number(integer) };
  const float = parseFloat64(text);
  if (float === undefined) throw new Error(`illegal number syntax: ${quote(text)}`);
  if (!/[.eEpP]/.test(text)) throw new Error(`integer overflow: ${quote(text)}`);
  return { signed: wholeWithin(float, -(2 ** 63), 2 ** 63), unsigned: wholeWithin(float, 0, 2 ** 64), float };
}

const wholeWithin = (value: number, from: number, below: number): bigint | undefined =>
  Number.isInteger(value) && value >= from && value < below ? BigInt(value) : undefined;
