/** Whether a hostname stands for many: `*` or `*.suffix`. */
export function isWildcard(hostname: string): boolean {
  return hostname.startsWith("*");
}

/**
 * Every host pattern that covers a hostname, the most specific first and the hostname itself among them: for
 * `a.b.c` these are `a.b.c`, `*.b.c`, `*.c` and `*`; for `*.b.c` the same from `*.b.c` on.
 */
export function patternsCovering(hostname: string): readonly string[] {
  const patterns = [hostname];
  const labels = hostname.split(".");
  for (let i = 1; i < labels.length; i++) patterns.push(`*.${labels.slice(i).join(".")}`);
  patterns.push("*");
  return [...new Set(patterns)];
}
