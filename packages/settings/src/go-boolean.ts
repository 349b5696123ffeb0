const booleans: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

/** Parses a boolean as Go's `strconv.ParseBool` does. Returns undefined for any other text, such as `yes` or `tRUE`. */
export function parseGoBoolean(text: string): boolean | undefined {
  return booleans.get(text);
}
