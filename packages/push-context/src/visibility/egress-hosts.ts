import { isWildcard } from "../traffic-policy/host-pattern.js";
import { hostsOverlap, isSubsetOfHost } from "./host-names.js";

/** Parsed egress hosts of a Sidecar, by the namespace that declares them. */
export interface EgressHosts {
  /** Maps a namespace, or `*` for all, to the hosts imported from and excluded in it. */
  readonly byNamespace: ReadonlyMap<string, NamespaceHosts>;
  /** The namespaces from which anything is imported; undefined if all. */
  readonly owners: readonly string[] | undefined;
  /** `namespace/host` of each import if all of them are exact; otherwise undefined. */
  readonly exact: readonly string[] | undefined;
}

interface NamespaceHosts {
  readonly imported: string[];
  readonly excluded: string[];
}

/** Default egress hosts: all hosts of all namespaces. */
export const allHosts: readonly string[] = ["*/*"];

/**
 * Parses egress hosts of the form `namespace/host`: `*` is any namespace, `.` is the client's, and a namespace with the
 * prefix `~` excludes the host (`~/host` in all namespaces). Malformed entries, which validation rejects, are skipped.
 */
export function egressHosts(hosts: readonly string[], namespace: string | undefined): EgressHosts {
  const byNamespace = new Map<string, NamespaceHosts>();
  const exact = new Set<string>();
  let allExact = true;
  for (const entry of hosts) {
    const [prefix, host, more] = entry.split("/");
    if (prefix === undefined || host === undefined || more !== undefined) {
      continue;
    }
    const excludes = prefix.startsWith("~");
    const named = excludes ? prefix.slice(1) || "*" : prefix;
    const owner = named === "." ? (namespace ?? "") : named;
    const group = byNamespace.get(owner) ?? { imported: [], excluded: [] };
    byNamespace.set(owner, group);
    (excludes ? group.excluded : group.imported).push(host);
    if (!excludes) {
      allExact &&= !isWildcard(host) && owner !== "*";
      exact.add(`${owner}/${host}`);
    }
  }
  const owners = [...byNamespace].filter(([, { imported }]) => imported.length > 0).map(([owner]) => owner);
  return { byNamespace, owners: owners.includes("*") ? undefined : owners, exact: allExact ? [...exact] : undefined };
}

/**
 * Returns the groups to search for a host of a namespace: the namespace's own, then that of all namespaces; empty if
 * the host is excluded.
 */
export function groupsFor(hosts: EgressHosts, namespace: string, host: string): readonly NamespaceHosts[] {
  if (excludesHost(hosts, namespace, host)) return [];
  return [hosts.byNamespace.get(namespace), hosts.byNamespace.get("*")].filter((group) => group !== undefined);
}

/** Reports whether a host of a namespace is excluded. */
export function excludesHost({ byNamespace }: EgressHosts, namespace: string, host: string): boolean {
  return [byNamespace.get(namespace), byNamespace.get("*")].some((group) =>
    group?.excluded.some((pattern) => isSubsetOfHost(host, pattern)),
  );
}

/** Reports whether a group imports a service's host. */
export function importsService({ imported }: NamespaceHosts, host: string): boolean {
  return imported.some((pattern) => isSubsetOfHost(host, pattern));
}

/**
 * Reports whether any host of a VirtualService is imported. Wildcards match in both directions, except for routes of
 * the Gateway API (`requiresSubset`), whose host must be a subset of the egress host.
 */
export function importsVirtualService(
  egress: EgressHosts,
  namespace: string,
  hosts: readonly string[],
  requiresSubset: boolean,
): boolean {
  const matches = requiresSubset ? isSubsetOfHost : hostsOverlap;
  return hosts.some((host) =>
    groupsFor(egress, namespace, host).some(({ imported }) => imported.some((pattern) => matches(host, pattern))),
  );
}
