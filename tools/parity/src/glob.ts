/** Reports whether a name matches a glob, in which `*` matches any characters including slashes. */
export function matchesGlob(name: string, glob: string): boolean {
  const parts = glob.split("*");
  const first = parts.shift() ?? "";
  if (parts.length === 0) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  const last = parts.pop() ?? "";
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.endsWith(last) && name.length - last.length >= at;
}
