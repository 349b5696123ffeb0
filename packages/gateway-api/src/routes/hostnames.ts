/** Reports whether a hostname is a wildcard, such as `*` or `*.example.com`. */
export function isWildcard(host: string): boolean {
  return host.startsWith("*");
}

/** Reports whether `other` matches every name that `host` matches. */
export function isSubsetOf(host: string, other: string): boolean {
  if (!isWildcard(other)) return host === other;
  if (!isWildcard(host)) return host.endsWith(other.slice(1));
  return host.length >= other.length && host.endsWith(other.slice(1));
}

/** Reports whether one of two hostnames includes the other. */
export function hostsOverlap(a: string, b: string): boolean {
  return isSubsetOf(a, b) || isSubsetOf(b, a);
}

/** Returns the hosts that both lists cover, in the order of the first one. */
export function intersectHosts(hosts: readonly string[], others: readonly string[]): readonly string[] {
  const common = hosts.flatMap((host) =>
    others.flatMap((other) => (isSubsetOf(host, other) ? [host] : isSubsetOf(other, host) ? [other] : [])),
  );
  return [...new Set(common)];
}
