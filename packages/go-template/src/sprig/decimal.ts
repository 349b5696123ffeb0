/** A decimal number: `coefficient × 10^exponent`. */
export interface Decimal {
  readonly coefficient: bigint;
  readonly exponent: number;
}

/** Digits after the point of a quotient, as in shopspring/decimal. */
const quotientDigits = 16;

/**
 * Returns the shortest decimal number that identifies a float.
 *
 * @throws Error for an infinity, and for what is not a number
 */
export function decimalOf(value: number): Decimal {
  if (!Number.isFinite(value)) {
    const text = Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
    throw new Error(`Cannot create a Decimal from ${text}`);
  }
  const [mantissa = "0", exponent = "0"] = value.toExponential().split("e");
  const [, fraction = ""] = mantissa.split(".");
  return { coefficient: BigInt(mantissa.replace(".", "")), exponent: Number(exponent) - fraction.length };
}

/** Returns the nearest float. */
export const toNumber = ({ coefficient, exponent }: Decimal): number => Number(`${coefficient}e${exponent}`);

/** Returns the sum. */
export const add = (a: Decimal, b: Decimal): Decimal => {
  const exponent = Math.min(a.exponent, b.exponent);
  return { coefficient: scale(a, exponent) + scale(b, exponent), exponent };
};

/** Returns the difference. */
export const subtract = (a: Decimal, b: Decimal): Decimal => add(a, { ...b, coefficient: -b.coefficient });

/** Returns the product. */
export const multiply = (a: Decimal, b: Decimal): Decimal => ({
  coefficient: a.coefficient * b.coefficient,
  exponent: a.exponent + b.exponent,
});

/**
 * Returns the quotient, rounded to 16 digits after the point.
 *
 * @throws Error for a divisor of 0
 */
export function divide(a: Decimal, b: Decimal): Decimal {
  if (b.coefficient === 0n) throw new Error("decimal division by 0");
  const power = a.exponent - b.exponent + quotientDigits;
  const numerator = a.coefficient * (power > 0 ? 10n ** BigInt(power) : 1n);
  const denominator = b.coefficient * (power < 0 ? 10n ** BigInt(-power) : 1n);
  const quotient = numerator / denominator;
  const remainder = numerator % denominator;
  const isNegative = numerator < 0n !== denominator < 0n;
  const roundsAway = absolute(remainder) * 2n >= absolute(denominator);
  return { coefficient: quotient + (roundsAway ? (isNegative ? -1n : 1n) : 0n), exponent: -quotientDigits };
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value);

const scale = ({ coefficient, exponent }: Decimal, target: number): bigint =>
  coefficient * 10n ** BigInt(exponent - target);
