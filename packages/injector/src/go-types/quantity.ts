/*
 * Kubernetes' quantities: `resource.Quantity` of k8s.io/apimachinery, with parsing and the canonical form alone.
 */

const syntax = /^([+-]?)(\d*)(?:\.(\d*))?(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)$/;
const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const zeroSuffix = decimalSuffixes.indexOf("");
/** Largest value that Go keeps in 64 bits. */
const maximum = (1n << 63n) - 1n;
/** Exponents beyond these make no sense for a quantity, and would make huge numbers. */
const maxExponent = 64;

type Format = "binary" | "decimal" | "exponent";

/**
 * Returns a quantity in its canonical form: `1024Mi` is `1Gi`, `0.5` is `500m`. Digits below one billionth are rounded
 * up.
 *
 * @returns undefined if the text is no quantity
 */
export function canonicalQuantity(text: string): string | undefined {
  // Like Kubernetes, this accepts a suffix without digits as 0.
  const match = syntax.exec(text);
  if (match === null || text === "") return undefined;
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
  const exponent = /^[eE]/.test(suffix) && suffix.length > 1 ? Number(suffix.slice(1)) : undefined;
  if (exponent !== undefined && Math.abs(exponent) > maxExponent) return undefined;
  const binary = exponent === undefined ? binarySuffixes.indexOf(suffix) : -1;
  const isBinary = binary > 0;
  const power = exponent ?? (isBinary ? 0 : (decimalSuffixes.indexOf(suffix) - zeroSuffix) * 3);
  if (isCanonical(whole, fraction, isBinary ? { binary: 10 * binary } : { power })) return text;
  const scaled = BigInt(whole + fraction || "0") * (isBinary ? 1n << BigInt(10 * binary) : 1n);
  const nano = shift(scaled, power - fraction.length + 9);
  const limited = isBinary && nano > maximum * 1_000_000_000n ? maximum * 1_000_000_000n : nano;
  const format: Format = exponent !== undefined ? "exponent" : isBinary ? "binary" : "decimal";
  const formatted = formatNano(limited, format);
  return sign === "-" && limited !== 0n ? `-${formatted}` : formatted;
}

/** Reports whether Kubernetes keeps the text: a number of few digits that it does not shorten. */
function isCanonical(
  whole: string,
  fraction: string,
  scale: { readonly power: number } | { readonly binary: number },
): boolean {
  const digits = whole.replace(/^0+/, "") || "0";
  const shifted = digits + fraction;
  if ("binary" in scale) {
    const room = 15 - digits.length - Math.trunc((scale.binary * 3) / 10) - 1;
    return fraction === "" && room >= 0 && (BigInt(digits) & 7n) !== 0n;
  }
  const power = scale.power - fraction.length;
  return shifted.length <= 18 && power >= -9 && power % 3 === 0 && !shifted.endsWith("000") && !shifted.startsWith("0");
}

/** Multiplies by a power of ten, rounding up. */
function shift(value: bigint, power: number): bigint {
  if (power >= 0) return value * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (value + divisor - 1n) / divisor;
}

function formatNano(nano: bigint, format: Format): string {
  if (nano === 0n) return "0";
  const isWhole = nano % 1_000_000_000n === 0n;
  if (format === "binary" && isWhole && nano >= 1024_000_000_000n) return formatBinary(nano / 1_000_000_000n);
  return formatDecimal(nano, format === "exponent");
}

function formatBinary(value: bigint): string {
  let size = value;
  let power = 0;
  while (size % 1024n === 0n && power < binarySuffixes.length - 1) {
    size /= 1024n;
    power++;
  }
  return `${size}${binarySuffixes[power] ?? ""}`;
}

function formatDecimal(nano: bigint, asExponent: boolean): string {
  let size = nano;
  let power = 0;
  while (size % 1000n === 0n && power < decimalSuffixes.length - 1) {
    size /= 1000n;
    power++;
  }
  if (!asExponent) return `${size}${decimalSuffixes[power] ?? ""}`;
  const exponent = (power - zeroSuffix) * 3;
  return exponent === 0 ? String(size) : `${size}e${exponent}`;
}
