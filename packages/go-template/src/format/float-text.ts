/** Formats of Go's `strconv.FormatFloat`. */
export type FloatFormat = "b" | "e" | "f" | "g" | "x";

/**
 * Returns a float as `strconv.FormatFloat` does.
 *
 * @param precision digits; -1 for the fewest that identify the number
 */
export function formatFloat(value: number, format: FloatFormat, precision: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const magnitude = Math.abs(value);
  switch (format) {
    case "e":
      return sign + exponential(precision < 0 ? shortest(magnitude) : significant(magnitude, precision + 1), precision);
    case "f":
      return sign + (precision < 0 ? plain(shortest(magnitude)) : fixed(magnitude, precision));
    case "g":
      return sign + general(magnitude, precision);
    case "b":
      return sign + binary(magnitude);
    case "x":
      return sign + hexadecimal(magnitude, precision);
  }
}

/** Digits of a number: 0.d1d2d3… × 10^point. */
interface Decimal {
  readonly digits: string;
  readonly point: number;
}

function general(value: number, precision: number): string {
  const isShortest = precision < 0;
  const decimal = isShortest ? shortest(value) : significant(value, precision === 0 ? 1 : precision);
  const digits = isShortest ? decimal.digits : decimal.digits.replace(/0+$/, "");
  const trimmed = { digits: digits === "" ? "0" : digits, point: value === 0 ? 1 : decimal.point };
  let limit = precision === 0 ? 1 : precision;
  if (limit > trimmed.digits.length && trimmed.digits.length >= trimmed.point) limit = trimmed.digits.length;
  if (isShortest) limit = 6;
  const exponent = trimmed.point - 1;
  return exponent < -4 || exponent >= limit ? exponential(trimmed, trimmed.digits.length - 1) : plain(trimmed);
}

function shortest(value: number): Decimal {
  if (value === 0) return { digits: "0", point: 1 };
  const [mantissa = "", exponent = ""] = value.toExponential().split("e");
  return { digits: mantissa.replace(".", ""), point: Number(exponent) + 1 };
}

function exponential({ digits, point }: Decimal, precision: number): string {
  const fraction = precision < 0 ? digits.slice(1) : digits.slice(1, precision + 1).padEnd(precision, "0");
  const exponent = point - 1;
  const text = String(Math.abs(exponent)).padStart(2, "0");
  return `${digits.charAt(0)}${fraction === "" ? "" : "."}${fraction}e${exponent < 0 ? "-" : "+"}${text}`;
}

function plain({ digits, point }: Decimal): string {
  if (point <= 0) return digits === "0" ? "0" : `0.${"0".repeat(-point)}${digits}`;
  const whole = digits.slice(0, point).padEnd(point, "0");
  return digits.length > point ? `${whole}.${digits.slice(point)}` : whole;
}

function fixed(value: number, decimals: number): string {
  const digits = scaled(value, decimals)
    .toString()
    .padStart(decimals + 1, "0");
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Returns a number rounded to a number of significant digits. */
function significant(value: number, count: number): Decimal {
  if (value === 0) return { digits: "0".repeat(count), point: 1 };
  let point = Number(value.toExponential().split("e")[1]) + 1;
  let digits = scaled(value, count - point).toString();
  while (digits.length !== count) {
    point += digits.length > count ? 1 : -1;
    digits = scaled(value, count - point).toString();
  }
  return { digits, point };
}

function binary(value: number): string {
  const { mantissa, exponent } = partsOf(value);
  return `${mantissa}p${exponent < 0 ? "" : "+"}${exponent}`;
}

function hexadecimal(value: number, precision: number): string {
  let { mantissa, exponent } = partsOf(value);
  if (mantissa === 0n) return `0x0${precision > 0 ? `.${"0".repeat(precision)}` : ""}p+00`;
  while (mantissa < 1n << 60n) {
    mantissa <<= 1n;
    exponent--;
  }
  if (precision >= 0 && precision < 15) {
    const unit = 1n << BigInt(60 - 4 * precision);
    const rest = mantissa % unit;
    mantissa -= rest;
    if (rest * 2n > unit || (rest * 2n === unit && (mantissa / unit) % 2n === 1n)) mantissa += unit;
    if (mantissa >= 1n << 61n) {
      mantissa >>= 1n;
      exponent++;
    }
  }
  const digits = mantissa.toString(16);
  const fraction =
    precision < 0 ? digits.slice(1).replace(/0+$/, "") : digits.slice(1, precision + 1).padEnd(precision, "0");
  const power = exponent + 60;
  const sign = power < 0 ? "-" : "+";
  return `0x1${fraction === "" ? "" : `.${fraction}`}p${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** Returns `value × 10^power`, rounded half to even, from the exact value of the float. */
function scaled(value: number, power: number): bigint {
  const { mantissa, exponent } = partsOf(value);
  const numerator = mantissa * (exponent > 0 ? 1n << BigInt(exponent) : 1n) * (power > 0 ? 10n ** BigInt(power) : 1n);
  const denominator = (exponent < 0 ? 1n << BigInt(-exponent) : 1n) * (power < 0 ? 10n ** BigInt(-power) : 1n);
  const quotient = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  const roundsUp = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return roundsUp ? quotient + 1n : quotient;
}

/** Returns a float as `mantissa × 2^exponent`. */
function partsOf(value: number): { mantissa: bigint; exponent: number } {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const raw = bits.getBigUint64(0);
  const biased = Number((raw >> 52n) & 0x7ffn);
  const fraction = raw & 0xfffffffffffffn;
  return { mantissa: biased === 0 ? fraction : fraction | (1n << 52n), exponent: (biased === 0 ? 1 : biased) - 1075 };
}
