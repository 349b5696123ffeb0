const mostStrings = 1_000_000;
let known = new Map<string, string>();

/** The one string that all proxies of this thread keep for equal ones: thousands of them hold the same names and versions. */
export function intern(text: string): string {
  const found = known.get(text);
  if (found !== undefined) return found;
  if (known.size >= mostStrings) known = new Map();
  known.set(text, text);
  return text;
}
