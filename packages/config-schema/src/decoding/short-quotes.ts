/** Longest quotation in a message, in characters. */
const maxQuoted = 160;

/** Characters of a longer quotation that are kept. */
const kept = 100;

/** Shortens the quotations of a message that are longer than a line, such as those of long paths and patterns. */
export function withShortQuotes(message: string): string {
  if (message.length <= maxQuoted) return message;
  let out = "";
  let at = 0;
  for (;;) {
    const start = message.indexOf('"', at);
    const end = start < 0 ? -1 : endOfQuote(message, start);
    if (end < 0) return out + message.slice(at);
    out += message.slice(at, start) + shortQuote(message.slice(start, end));
    at = end;
  }
}

/** Shortens a quotation that is longer than a line. */
export function shortQuote(quoted: string): string {
  if (quoted.length <= maxQuoted) return quoted;
  // Neither half of an escape nor of a surrogate pair is kept.
  const beginning = quoted.slice(0, kept).replace(/\\(?:u[0-9a-f]{0,3})?$/, "");
  return `${beginning.replace(/[\uD800-\uDBFF]$/, "")}…"`;
}

/** Returns the index after the closing quote; -1 if there is none. */
function endOfQuote(message: string, start: number): number {
  for (let i = start + 1; i < message.length; i++) {
    if (message[i] === "\\") i++;
    else if (message[i] === '"') return i + 1;
  }
  return -1;
}
