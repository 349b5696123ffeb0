/** Formats suggestions to follow a name that was not found: `; did you mean "a" or "b"?`, or nothing. */
export function quotedNearest(names: readonly string[]): string {
  return names.length === 0 ? "" : `; did you mean ${names.map((name) => JSON.stringify(name)).join(" or ")}?`;
}
