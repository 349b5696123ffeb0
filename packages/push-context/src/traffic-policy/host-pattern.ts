/** Whether a hostname stands for many: `*` or `*.suffix`. */
export function isWildcard(hostname: string): boolean {
  return hostname.startsWith("*");
}

/** Whether a pattern's wildcard is only the beginning of its first label: `*-a.b`, `*a.b`. */
export function isPartialWildcard(pattern: string): boolean {
  return isWildcard(pattern) && pattern !== "*" && !pattern.startsWith("*.");
}

/** Whether a wildcard covers a hostname, or all that another wildcard stands for. */
export function coversHost(pattern: string, hostname: string): boolean {
  return isWildcard(pattern)
    ? (isWildcard(hostname) ? hostname.slice(1) : hostname).endsWith(pattern.slice(1))
    : pattern === hostname;
}

/**
 * Every host pattern of whole labels that covers a hostname, the most specific first and the hostname itself among
 * them: for `a.b.c` these are `a.b.c`, `*.b.c`, `*.c` and `*`; for `*.b.c` the same from `*.b.c` on.
 */
export function patternsCovering(hostname: string): readonly string[] {
  const patterns = [hostname];
  const labels = hostname.split(".");
  for (let i = 1; i < labels.length; i++) patterns.push(`*.${labels.slice(i).join(".")}`);
  patterns.push("*");
  return [...new Set(patterns)];
}
