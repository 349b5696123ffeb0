import { isWildcard } from "../traffic-policy/host-pattern.js";
import { hostsOverlap, isSubsetOfHost } from "./host-names.js";

/** What an egress listener of a Sidecar imports: hosts by the namespace that declares them. */
export interface EgressHosts {
  /** Namespace, or `*` for all, to what is imported and excluded there. */
  readonly byNamespace: ReadonlyMap<string, NamespaceHosts>;
  /** The namespaces from which anything is imported; undefined: all. */
  readonly owners: readonly string[] | undefined;
  /** Where every import names one host of one namespace: those, each `namespace/host`. */
  readonly exact: readonly string[] | undefined;
}

interface NamespaceHosts {
  readonly imported: string[];
  readonly excluded: string[];
}

/** What every egress listener without hosts of its own imports: all hosts of all namespaces. */
export const everything: readonly string[] = ["*/*"];

/**
 * Reads hosts of the form `namespace/host`: `*` stands for all namespaces, `.` for the client's, and a namespace that
 * starts with `~` excludes instead (`~/host` in all namespaces). Entries of another form are left out, as validation
 * refuses them.
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
 * The groups in which a host of a namespace is looked for: the namespace's own, then that of all; none where it is
 * excluded.
 */
export function groupsFor({ byNamespace }: EgressHosts, namespace: string, host: string): readonly NamespaceHosts[] {
  const groups = [byNamespace.get(namespace), byNamespace.get("*")].filter((group) => group !== undefined);
  return groups.some((group) => group.excluded.some((pattern) => isSubsetOfHost(host, pattern))) ? [] : groups;
}

/** Whether a service's host is imported by a group. */
export function importsService({ imported }: NamespaceHosts, host: string): boolean {
  return imported.some((pattern) => isSubsetOfHost(host, pattern));
}

/**
 * Whether a VirtualService of a namespace is imported: by one of its hosts. A wildcard meets what it covers in either
 * direction, but for routes of the Gateway API.
 */
export function importsVirtualService(
  egress: EgressHosts,
  namespace: string,
  hosts: readonly string[],
  narrowing: boolean,
): boolean {
  const meets = narrowing ? isSubsetOfHost : hostsOverlap;
  return hosts.some((host) =>
    groupsFor(egress, namespace, host).some(({ imported }) => imported.some((pattern) => meets(host, pattern))),
  );
}
