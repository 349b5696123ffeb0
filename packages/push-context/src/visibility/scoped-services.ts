import { query, type QueryContext } from "@istiod/incremental";
import { aliasesOf, aliasKeys, declarationsOf, service, servicesByHostname, splitKey } from "@istiod/service-discovery";
import { features } from "../mesh/features.js";
import { routedHosts } from "../routing/virtual-service-index.js";
import { type EgressHosts, egressHosts, excludesHost, groupsFor, importsService } from "./egress-hosts.js";
import { isExportedTo } from "./export-to.js";
import {
  type EgressListener,
  egressListeners,
  listenerKey,
  scopeKey,
  type ScopeListener,
  type ScopeRef,
} from "./scope.js";
import type { ScopedService } from "./scoped-service.js";
import { hiddenDeclarations } from "./hidden-declarations.js";
import { listenerVirtualServices } from "./scoped-virtual-services.js";
import { byAge, serviceHeader, type ServiceHeader, visibleServices, visibleServicesOf } from "./service-header.js";
import { ServicesByHost } from "./services-by-host.js";
import { visibleAliases } from "./visible-aliases.js";

interface ImportedService {
  readonly header: ServiceHeader;
  readonly scoped: ScopedService;
}

/** The services that an egress listener imports, in Istio's order. */
export const listenerServices = query(
  "listenerServices",
  (q, { scope, listener }: ScopeListener): readonly ScopedService[] => {
    const declared = scope.gateway === true ? undefined : q.call(egressListeners, scope)[listener];
    if (declared === undefined) {
      return [];
    }
    const hosts = egressHosts(declared.hosts, scope.namespace);
    const imported = candidates(q, hosts, scope.namespace).flatMap((header): ImportedService[] => {
      const group = groupsFor(hosts, header.namespace, header.hostname).find((candidate) =>
        importsService(candidate, header.hostname),
      );
      if (group === undefined) {
        return [];
      }
      const ports = declared.matchesPort ? filterToPort(q, header.id, declared.port?.number ?? 0) : {};
      if (ports === undefined) {
        return [];
      }
      const aliases = group.imported.includes("*") ? [] : q.call(aliasesOf, header.hostname);
      const kept = aliases.filter((alias) => importsService(group, splitKey(alias)[1]));
      const scoped = {
        service: header.id,
        hostname: header.hostname,
        ...ports,
        ...hiddenDeclarations(q, header.id, scope.namespace),
        ...(kept.length < aliases.length ? { aliases: kept } : {}),
      };
      return [{ header, scoped }];
    });
    for (const alias of importedByAlias(q, declared, hosts, scope.namespace, imported)) imported.push(alias);
    const chosen = namespaceByHost(
      imported.map(({ header }) => header),
      scope.namespace,
      features.unifiedSidecarScope(q),
    );
    return imported
      .filter(({ header }) => chosen.get(header.hostname) === header.namespace)
      .map(({ scoped }) => scoped);
  },
  { key: listenerKey },
);

/**
 * All services of a scope, one per host: the imports of its egress listeners, then the destinations of their
 * VirtualServices.
 */
export const scopeServices = query(
  "scopeServices",
  (q, scope: ScopeRef): readonly ScopedService[] => {
    const added = new ServicesByHost(q);
    if (scope.gateway === true) {
      q.call(visibleServices, scope.namespace).forEach(({ id, hostname }) =>
        added.add({ service: id, hostname, ...hiddenDeclarations(q, id, scope.namespace) }),
      );
      return added.list;
    }
    for (const [listener, { matchesPort, port }] of q.call(egressListeners, scope).entries()) {
      q.call(listenerServices, { scope, listener }).forEach((scoped) => added.add(scoped));
      for (const virtualService of q.call(listenerVirtualServices, { scope, listener })) {
        for (const { host, ports } of q.call(routedHosts, { virtualService, namespace: scope.namespace ?? "" })) {
          const hostname = q.call(visibleAliases, scope.namespace)[host] ?? host;
          const id = destinationService(q, hostname, scope.namespace);
          const kept = id && (matchesPort ? filterToPort(q, id, port?.number ?? 0) : filterToPorts(q, id, ports));
          if (id !== undefined && kept !== undefined) {
            added.add({ service: id, hostname, ...kept, ...hiddenDeclarations(q, id, scope.namespace) });
          }
        }
      }
    }
    return added.list;
  },
  { key: scopeKey },
);

/** Maps hosts to the scope's services. */
export const scopeServiceIndex = query(
  "scopeServiceIndex",
  (q, scope: ScopeRef): Readonly<Record<string, ScopedService>> =>
    Object.fromEntries(q.call(scopeServices, scope).map((scoped) => [scoped.hostname, scoped])),
  { key: scopeKey },
);

function serviceIn(index: Readonly<Record<string, ScopedService>>, hostname: string): ScopedService | undefined {
  return Object.hasOwn(index, hostname) ? index[hostname] : undefined;
}

/** The service that a host refers to in a scope. */
export const serviceInScope = query(
  "serviceInScope",
  (q, { scope, hostname }: { readonly scope: ScopeRef; readonly hostname: string }): ScopedService | undefined =>
    serviceIn(q.call(scopeServiceIndex, scope), hostname),
  { key: ({ scope, hostname }) => `${hostname} ${scopeKey(scope)}` },
);

/** Returns the services that an egress listener may import. If all its hosts are exact, only these are read. */
function candidates(
  q: QueryContext,
  { exact, owners }: EgressHosts,
  namespace: string | undefined,
): readonly ServiceHeader[] {
  if (exact !== undefined) {
    const named = exact.flatMap((key) => q.call(declarationsOf, key)).flatMap((id) => q.call(serviceHeader, id) ?? []);
    return named.filter(({ exportedTo }) => isExportedTo(exportedTo, namespace)).sort(byAge);
  }
  return owners === undefined ? q.call(visibleServices, namespace) : visibleServicesOf(q, owners, namespace);
}

/**
 * Returns the services that a listener imports only by their aliases (ExternalName services): without the service, the
 * alias would lead nowhere.
 */
function importedByAlias(
  q: QueryContext,
  { matchesPort, port }: EgressListener,
  hosts: EgressHosts,
  namespace: string | undefined,
  imported: readonly ImportedService[],
): readonly ImportedService[] {
  const known = new Set(imported.map(({ header }) => header.id));
  return importedAliases(q, hosts, namespace).flatMap(([hostname, aliases]) =>
    q
      .call(servicesByHostname, hostname)
      .flatMap((key) => q.call(declarationsOf, key))
      .flatMap((id): ImportedService[] => {
        const header = known.has(id) ? undefined : q.call(serviceHeader, id);
        if (header === undefined || !isExportedTo(header.exportedTo, namespace)) return [];
        const ports = matchesPort ? filterToPort(q, id, port?.number ?? 0) : {};
        if (ports === undefined || excludesHost(hosts, header.namespace, hostname)) return [];
        return [
          { header, scoped: { service: id, hostname, ...ports, aliases, ...hiddenDeclarations(q, id, namespace) } },
        ];
      }),
  );
}

/** Returns the hosts of which aliases are imported, with the keys of these aliases. */
function importedAliases(
  q: QueryContext,
  hosts: EgressHosts,
  namespace: string | undefined,
): readonly (readonly [host: string, aliases: readonly string[]])[] {
  if (hosts.byNamespace.get("*")?.imported.includes("*") === true) return [];
  const visible = q.call(visibleAliases, namespace);
  const out = new Map<string, string[]>();
  for (const key of q.call(aliasKeys)) {
    const [owner, alias] = splitKey(key);
    const host = visible[alias];
    if (host === undefined || !groupsFor(hosts, owner, alias).some((group) => importsService(group, alias))) continue;
    out.set(host, [...(out.get(host) ?? []), key]);
  }
  return [...out];
}

/**
 * Returns the namespace to use for each host: the client's own if it declares the host, else the first one, with
 * Kubernetes Services preferred.
 */
function namespaceByHost(
  headers: readonly ServiceHeader[],
  namespace: string | undefined,
  preferKubernetes: boolean,
): ReadonlyMap<string, string> {
  const chosen = new Map<string, ServiceHeader>();
  for (const header of headers) {
    const other = chosen.get(header.hostname);
    const kubernetesFirst =
      preferKubernetes &&
      other?.registry !== "Kubernetes" &&
      header.registry === "Kubernetes" &&
      other?.namespace !== namespace;
    if (other === undefined || header.namespace === namespace || kubernetesFirst) {
      chosen.set(header.hostname, header);
    }
  }
  return new Map([...chosen].map(([hostname, header]) => [hostname, header.namespace]));
}

/**
 * Returns the service that a destination host refers to: in the client's namespace, else a visible one, with Kubernetes
 * Services preferred, then the oldest one.
 */
export function destinationService(q: QueryContext, host: string, namespace: string | undefined): string | undefined {
  const keys = q.call(servicesByHostname, host);
  const own = keys.find((key) => splitKey(key)[0] === namespace);
  if (own !== undefined) {
    return visibleDeclaration(q, own, namespace) ?? own;
  }
  const visible = keys.flatMap((key) => visibleDeclaration(q, key, namespace) ?? []);
  return features.sidecarPicksBestServiceNamespace(q) ? visible[0] : [...visible].sort()[0];
}

/** Returns the first declaration of a service key that is exported to a namespace. */
export function visibleDeclaration(q: QueryContext, key: string, namespace: string | undefined): string | undefined {
  return q.call(declarationsOf, key).find((id) => {
    const header = q.call(serviceHeader, id);
    return header !== undefined && isExportedTo(header.exportedTo, namespace);
  });
}

/** Returns the port filter for a single port; undefined if the service has no such port. */
function filterToPort(q: QueryContext, id: string, number: number): Pick<ScopedService, "ports"> | undefined {
  const ports = q.call(portNumbers, id);
  if (!ports.includes(number)) {
    return undefined;
  }
  return ports.length === 1 ? {} : { ports: [number] };
}

/** Returns the port filter for destination ports, 0 standing for all; undefined if the service has none of them. */
function filterToPorts(
  q: QueryContext,
  id: string,
  wanted: readonly number[],
): Pick<ScopedService, "ports"> | undefined {
  if (wanted.length === 0 || wanted.includes(0)) {
    return {};
  }
  const all = q.call(portNumbers, id);
  const ports = all.filter((port) => wanted.includes(port));
  if (ports.length === all.length) {
    return {};
  }
  return ports.length === 0 ? undefined : { ports };
}

const portNumbers = query(
  "portNumbers",
  (q, id: string): readonly number[] => q.call(service, id)?.ports.map((port) => port.number) ?? [],
);
