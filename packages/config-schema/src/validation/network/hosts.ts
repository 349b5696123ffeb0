/** Reports whether one of two hosts, each a name or a wildcard such as `*.example.com`, includes the other. */
export function overlap(a: string, b: string): boolean {
  return isSubsetOf(a, b) || isSubsetOf(b, a);
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
