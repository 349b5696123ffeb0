/**
 * Finds hosts, each a name or a wildcard such as `*.example.com`, one of which includes the other. Compares each with
 * the wildcards that can include it only, since a list may have tens of thousands of hosts.
 *
 * @returns the position of an earlier host by that of a later one
 */
export function overlaps(hosts: readonly string[]): ReadonlyMap<number, number> {
  const names = new Map<string, number>();
  const wildcards = new Map<string, number>();
  const found = new Map<number, number>();
  const add = (a: number, b: number): void => {
    const later = Math.max(a, b);
    found.set(later, Math.min(a, b, found.get(later) ?? later));
  };
  for (const [i, host] of hosts.entries()) {
    const same = names.get(host);
    if (same !== undefined) add(same, i);
    else names.set(host, i);
    if (same === undefined && isWildcard(host)) wildcards.set(host.slice(1), i);
  }
  const lengths = [...new Set([...wildcards.keys()].map((suffix) => suffix.length))];
  for (const [host, i] of names) {
    const text = isWildcard(host) ? host.slice(1) : host;
    for (const length of lengths) {
      const wildcard = length > text.length ? undefined : wildcards.get(text.slice(text.length - length));
      if (wildcard !== undefined && wildcard !== i) add(wildcard, i);
    }
  }
  return found;
}

/** Reports whether `other` matches every name that `host` matches. */
export function isSubsetOf(host: string, other: string): boolean {
  if (!isWildcard(other)) return host === other;
  if (!isWildcard(host)) return host.endsWith(other.slice(1));
  return host.length >= other.length && host.endsWith(other.slice(1));
}

export function isWildcard(host: string): boolean {
  return host.startsWith("*");
}
