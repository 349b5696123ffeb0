/** Longest word that is repeated in a message. */
const longestShown = 40;

/**
 * Returns advice for a boolean or number where a string is expected, to be put behind the expectation; empty for other
 * values.
 *
 * @param word The value as the file has it: `y` for true, `1.10` for 1.1. Undefined where it is unknown or must not be
 *   shown.
 */
export function quoteHint(value: unknown, word: string | undefined): string {
  if (typeof value !== "boolean" && typeof value !== "number") return "";
  if (word === undefined || word === String(value) || word.length > longestShown) return " (quote it)";
  return typeof value === "boolean"
    ? ` (${word} is a boolean in YAML 1.1; quote it)`
    : ` (${word} is a number in YAML; quote it)`;
}
