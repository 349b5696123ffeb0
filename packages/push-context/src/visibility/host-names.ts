import { isWildcard } from "../traffic-policy/host-pattern.js";

/** Reports whether two hosts, either of which may be a wildcard, overlap (`Matches` in pkg/config/host). */
export function hostsOverlap(a: string, b: string): boolean {
  return isSubsetOfHost(a, b) || isSubsetOfHost(b, a);
}

/** Reports whether all names that `host` matches are also matched by `pattern` (`SubsetOf` in pkg/config/host). */
export function isSubsetOfHost(host: string, pattern: string): boolean {
  if (!isWildcard(pattern)) {
    return host === pattern;
  }
  return isWildcard(host)
    ? host.length >= pattern.length && host.endsWith(pattern.slice(1))
    : host.endsWith(pattern.slice(1));
}

/** Orders hosts by specificity: exact names before wildcards, longer before shorter, then alphabetically. */
export function bySpecificity(a: string, b: string): number {
  return Number(isWildcard(a)) - Number(isWildcard(b)) || b.length - a.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** Returns the most specific of `patterns` that matches a host. */
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
 * Returns the intersection of two lists of hosts: of each overlapping pair, the more specific host. In the order of
 * `hosts`, deduplicated.
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
 * Returns the hosts, each `namespace/host` (`*` for all namespaces) or `host`, that apply to a namespace, without the
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
