/** Parts of a text: a string in either quotes, a name without quotes, a comma before a closing bracket, a comma. */
const parts = /"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|[A-Za-z_$][\w$]*(?=\s*:)|[^"'A-Za-z_$,]+|[A-Za-z_$][\w$]*|,/g;

/**
 * Returns a text in JSON, if protobuf's JSON parser accepts more than JSON in it: names without quotes or in single
 * quotes, strings in single quotes or with control characters, and a comma after the last element.
 */
export function strictJson(text: string): string {
  const found = text.match(parts) ?? [];
  // A text with anything else, such as an open quote, is no JSON either.
  if (found.join("") !== text) return text;
  return found
    .map((part, at) => (part === "," && isTrailing(found, at) ? "" : strictPart(part, found[at + 1])))
    .join("");
}

/** Reports whether a comma follows an element and precedes the end of its object or list. */
function isTrailing(found: readonly string[], comma: number): boolean {
  const before = (found[comma - 1] ?? "").trimEnd().at(-1) ?? "";
  return !["", "{", "[", ",", ":"].includes(before) && /^\s*[}\]]/.test(found[comma + 1] ?? "");
}

function strictPart(part: string, next: string | undefined): string {
  if (/^["']/.test(part)) return strictString(part.slice(1, -1));
  return /^[A-Za-z_$]/.test(part) && /^\s*:/.test(next ?? "") ? JSON.stringify(part) : part;
}

function strictString(content: string): string {
  const strict = content.replace(/\\[^]|["\u0000-\u001f]/g, (found) => {
    if (found === "\\'") return "'";
    return found.startsWith("\\") ? found : JSON.stringify(found).slice(1, -1);
  });
  return `"${strict}"`;
}
