import { isWildcard } from "../traffic-policy/host-pattern.js";

/** Whether two hosts, either of which may be a wildcard, have a name in common (pkg/config/host). */
export function hostsOverlap(a: string, b: string): boolean {
  return isSubsetOfHost(a, b) || isSubsetOfHost(b, a);
}

/** Whether every name that `host` stands for is one of `pattern`'s. */
export function isSubsetOfHost(host: string, pattern: string): boolean {
  if (!isWildcard(pattern)) {
    return host === pattern;
  }
  return isWildcard(host)
    ? host.length >= pattern.length && host.endsWith(pattern.slice(1))
    : host.endsWith(pattern.slice(1));
}

/** Order of specificity: plain names before wildcards, then longer before shorter, then alphabetical. */
export function bySpecificity(a: string, b: string): number {
  return Number(isWildcard(a)) - Number(isWildcard(b)) || b.length - a.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** The most specific of `patterns` that covers a host, itself if it is among them. */
export function mostSpecificMatch(host: string, patterns: Iterable<string>): string | undefined {
  let best: string | undefined;
  for (const pattern of patterns) {
    const covers = isWildcard(pattern)
      ? (isWildcard(host) ? host.slice(1) : host).endsWith(pattern.slice(1))
      : host === pattern;
    if (covers && (best === undefined || bySpecificity(pattern, best) < 0)) {
      best = pattern;
    }
  }
  return best;
}

/**
 * What two lists of hosts have in common: of each pair that meets, the narrower host. In the order of `hosts`, without
 * repetition.
 */
export function intersectHosts(hosts: readonly string[], others: readonly string[]): readonly string[] {
  const out = new Set<string>();
  for (const host of hosts) {
    for (const other of others) {
      if (isSubsetOfHost(host, other)) {
        out.add(host);
      } else if (isSubsetOfHost(other, host)) {
        out.add(other);
      }
    }
  }
  return [...out];
}

/**
 * Of hosts written `namespace/host` (`*` for every namespace) or plain, those that serve a namespace, without the
 * prefix.
 */
export function hostsForNamespace(hosts: readonly string[], namespace: string): readonly string[] {
  return hosts.flatMap((entry) => {
    const slash = entry.indexOf("/");
    if (slash < 0) {
      return [entry];
    }
    const owner = entry.slice(0, slash);
    return owner === namespace || owner === "*" ? [entry.slice(slash + 1)] : [];
  });
}
