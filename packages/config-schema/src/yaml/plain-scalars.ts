/*
 * Meaning of unquoted words in Kubernetes' YAML: sigs.k8s.io/yaml on go-yaml v2, which follows YAML 1.1 in part. A
 * document means the same here as to kubectl.
 */

const words: Readonly<Record<string, boolean>> = Object.fromEntries([
  ...["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"].map((word) => [word, true]),
  ...["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"].map((word) => [word, false]),
]);

/** Words that mean a boolean. */
export const booleanWord = new RegExp(`^(?:${Object.keys(words).join("|")})$`);

/** Returns the boolean that a word means; undefined for other words. */
export function plainBoolean(word: string): boolean | undefined {
  return word.length <= "false".length && Object.hasOwn(words, word) ? words[word] : undefined;
}

const whole = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const decimal = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const fraction = /^\.[0-9]+(?:[eE][-+]?[0-9]+)?$/;

/**
 * Returns the number that a word means; undefined for other words. Digits may be separated by `_`. A leading 0 means
 * octal, unless a digit is above 7. A number that exceeds 64 bits, or a float's range, is a string (`7e431949`).
 */
export function plainNumber(word: string): number | undefined {
  const first = word.charCodeAt(0);
  if (first === dot) return fraction.test(word) ? finite(Number(word)) : undefined;
  if (!(first >= zero && first <= nine) && first !== plus && first !== minus) return undefined;
  const digits = word.replaceAll("_", "");
  const number = whole.test(digits) ? wholeNumber(digits) : undefined;
  return number ?? (decimal.test(digits) ? finite(Number(digits)) : undefined);
}

const [plus, minus, dot, zero, nine] = [..."+-.09"].map((character) => character.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
];

function wholeNumber(digits: string): number | undefined {
  const sign = /^[-+]/.exec(digits)?.[0] ?? "";
  const size = digits.slice(sign.length);
  const value = BigInt(/^0[0-7]+$/.test(size) ? `0o${size.slice(1)}` : size);
  const limit = sign === "-" ? 1n << 63n : sign === "+" ? (1n << 63n) - 1n : (1n << 64n) - 1n;
  if (value > limit) return undefined;
  return value === 0n ? 0 : Number(sign === "-" ? -value : value);
}

function finite(number: number): number | undefined {
  return Number.isFinite(number) ? number : undefined;
}
