/**
 * Reports whether a text matches a value of an AuthorizationPolicy: `*` matches any non-empty text, and a `*` at
 * either end matches the rest.
 */
export function matchesValue(value: string, text: string, ignoreCase = false): boolean {
  if (value === "*") return text !== "";
  const [pattern, subject] = ignoreCase ? [lowerAscii(value), lowerAscii(text)] : [value, text];
  if (pattern.startsWith("*")) return subject.endsWith(pattern.slice(1));
  return pattern.endsWith("*") ? subject.startsWith(pattern.slice(0, -1)) : subject === pattern;
}

/** Reports whether a text matches a pattern in which each `*` stands for any text. Linear in the text. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return text === pattern;
  const last = rest.pop() ?? "";
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** Envoy folds ASCII letters only. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
