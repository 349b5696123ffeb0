/** A number that was scanned: plain, complex (`1+2i`), or `bad` up to the character that does not belong to it. */
export interface ScannedNumber {
  readonly kind: "number" | "complex" | "bad";
  readonly end: number;
}

const digits = "[0-9_]*";
const number = new RegExp(
  [
    "[+-]?(?:",
    "0[xX][0-9a-fA-F_]*(?:\\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?",
    "|0[oO][0-7_]*(?:\\.[0-7_]*)?",
    "|0[bB][01_]*(?:\\.[01_]*)?",
    `|${digits}(?:\\.${digits})?(?:[eE][+-]?${digits})?`,
    ")i?",
  ].join(""),
  "y",
);

/** Scans a number from a position. It may be invalid, such as `089`: the parser reports that. */
export function scanNumber(text: string, position: number, isAlphanumeric: (character: string) => boolean) {
  const first = scan(text, position, isAlphanumeric);
  const next = text.charAt(first.end);
  if (first.kind === "bad" || (next !== "+" && next !== "-")) return first;
  const second = scan(text, first.end, isAlphanumeric);
  const isComplex = second.kind === "number" && text.charAt(second.end - 1) === "i";
  return { kind: isComplex ? "complex" : "bad", end: second.end } as const;
}

function scan(text: string, position: number, isAlphanumeric: (character: string) => boolean): ScannedNumber {
  number.lastIndex = position;
  number.test(text);
  const end = number.lastIndex;
  const code = text.codePointAt(end);
  const next = code === undefined ? "" : String.fromCodePoint(code);
  return isAlphanumeric(next) ? { kind: "bad", end: end + next.length } : { kind: "number", end };
}
