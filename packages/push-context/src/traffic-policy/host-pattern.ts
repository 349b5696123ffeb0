/** Reports whether a hostname is a wildcard: `*` or `*.suffix`. */
export function isWildcard(hostname: string): boolean {
  return hostname.startsWith("*");
}

/** Reports whether a wildcard is only a part of the pattern's first label: `*-a.b`, `*a.b`. */
export function isPartialWildcard(pattern: string): boolean {
  return isWildcard(pattern) && pattern !== "*" && !pattern.startsWith("*.");
}

/** Reports whether a pattern matches a hostname, or all names that another wildcard matches. */
export function matchesHost(pattern: string, hostname: string): boolean {
  return isWildcard(pattern)
    ? (isWildcard(hostname) ? hostname.slice(1) : hostname).endsWith(pattern.slice(1))
    : pattern === hostname;
}

/**
 * Returns all host patterns of whole labels that match a hostname, the most specific first: for `a.b.c` these are
 * `a.b.c`, `*.b.c`, `*.c` and `*`; for `*.b.c`, the same from `*.b.c` on.
 */
export function matchingPatterns(hostname: string): readonly string[] {
  const patterns = [hostname];
  const labels = hostname.split(".");
  for (let i = 1; i < labels.length; i++) patterns.push(`*.${labels.slice(i).join(".")}`);
  patterns.push("*");
  return [...new Set(patterns)];
}
