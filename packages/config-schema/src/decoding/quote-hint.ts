/** Longest word that a message repeats. */
const longestShown = 40;

/**
 * Returns the advice to quote a boolean or number where a string is expected, to append to a message. Empty for other
 * values.
 *
 * @param word the value as written in the file: `y` for true, `1.10` for 1.1. Undefined if unknown or secret.
 */
export function quoteHint(value: unknown, word: string | undefined): string {
  if (typeof value !== "boolean" && typeof value !== "number") return "";
  if (word === undefined || word === String(value) || word.length > longestShown) return " (quote it)";
  return typeof value === "boolean"
    ? ` (${word} is a boolean in YAML 1.1; quote it)`
    : ` (${word} is a number in YAML; quote it)`;
}
