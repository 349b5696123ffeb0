/** Formats suggestions to follow a name that was not found: `; did you mean "a" or "b"?`, or nothing. */
export function quotedNearest(names: readonly string[]): string {
  return names.length === 0 ? "" : `; did you mean ${names.map((name) => JSON.stringify(name)).join(" or ")}?`;
}

/** Lists names, the first five if there are more: `a, b, c, d, e and 3 more`. */
export function listNames(names: readonly string[]): string {
  const shown = 5;
  return names.length <= shown
    ? names.join(", ")
    : `${names.slice(0, shown).join(", ")} and ${names.length - shown} more`;
}
