const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;
const maxUint64 = 2n ** 64n - 1n;

/** Go's `strconv.ParseInt` with 64 bits; undefined where Go returns an error. Base 0 follows the syntax of Go. */
export function parseInteger(text: string, base: 0 | 8 | 10 = 0): bigint | undefined {
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  const magnitude = parseMagnitude(text.slice(sign.length), base);
  if (magnitude === undefined) return undefined;
  const value = sign === "-" ? -magnitude : magnitude;
  return value >= minInt64 && value <= maxInt64 ? value : undefined;
}

/** Go's `strconv.ParseUint` with 64 bits; undefined where Go returns an error. */
export function parseUnsigned(text: string, base: 0 | 10 = 0): bigint | undefined {
  const value = parseMagnitude(text, base);
  return value !== undefined && value <= maxUint64 ? value : undefined;
}

function parseMagnitude(text: string, base: 0 | 8 | 10): bigint | undefined {
  if (base === 10) return /^[0-9]+$/.test(text) ? BigInt(text) : undefined;
  if (base === 8) return /^[0-7]+$/.test(text) ? BigInt(`0o${text}`) : undefined;
  if (text.includes("_") && !areUnderscoresValid(text)) return undefined;
  const plain = text.replaceAll("_", "").toLowerCase();
  if (/^0x[0-9a-f]+$/.test(plain) || /^0o[0-7]+$/.test(plain) || /^0b[01]+$/.test(plain)) return BigInt(plain);
  if (/^0[0-7]+$/.test(plain)) return BigInt(`0o${plain.slice(1)}`);
  return /^(?:0|[1-9][0-9]*)$/.test(plain) ? BigInt(plain) : undefined;
}

/** Reports whether underscores separate digits, or a prefix and a digit. */
function areUnderscoresValid(text: string): boolean {
  const [, prefix, rest = ""] = /^[+-]?(0[xXoObB])?(.*)$/s.exec(text) ?? [];
  if (rest.includes("__") || rest.endsWith("_") || (prefix === undefined && rest.startsWith("_"))) return false;
  const isHexadecimal = prefix?.toLowerCase() === "0x";
  const digit = isHexadecimal ? /^[0-9a-fA-F]$/ : /^[0-9]$/;
  for (let i = rest.indexOf("_"); i >= 0; i = rest.indexOf("_", i + 1)) {
    if (i > 0 && !digit.test(rest.charAt(i - 1))) return false;
    if (!digit.test(rest.charAt(i + 1))) return false;
  }
  return true;
}

const special: ReadonlyMap<string, number> = new Map([
  ["inf", Infinity],
  ["infinity", Infinity],
  ["nan", NaN],
]);

/** Go's `strconv.ParseFloat` with 64 bits; undefined where Go returns an error, such as a number out of range. */
export function parseFloat64(text: string): number | undefined {
  const word = special.get(text.replace(/^[+-]/, "").toLowerCase());
  if (word !== undefined) return text.startsWith("-") ? -word : word;
  if (text.includes("_") && !areUnderscoresValid(text)) return undefined;
  const plain = text.replaceAll("_", "");
  if (text !== plain && !/^[+-]?0[xX]/.test(text)) return undefined;
  const value = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(plain)
    ? Number(plain)
    : parseHexadecimalFloat(plain);
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

function parseHexadecimalFloat(text: string): number | undefined {
  const match = /^([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?[0-9]+)$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", exponent = ""] = match;
  if (whole === "" && fraction === "") return undefined;
  const value = Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === "-" ? -value : value;
}

/** Go's conversion of a float to a signed integer of 64 bits, on amd64. */
export function floatToInteger(value: number): bigint {
  if (!Number.isFinite(value)) return minInt64;
  const integer = BigInt(Math.trunc(value));
  return integer >= minInt64 && integer <= maxInt64 ? integer : minInt64;
}
