import { query, type QueryContext } from "@istiod/incremental";
import { aliasesOf, service, type Service, servicesByHostname, splitKey } from "@istiod/service-discovery";
import { features } from "../mesh/features.js";
import { routedHosts } from "../routing/virtual-service-index.js";
import { egressHosts, groupsFor, importsService } from "./egress-hosts.js";
import { isExportedTo } from "./export-to.js";
import { egressListeners, type ScopeListener, type ScopeRef } from "./scope.js";
import { virtualServicesOf } from "./scoped-virtual-services.js";
import { serviceHeader, type ServiceHeader, visibleServices } from "./service-header.js";

/** A service as a scope imports it: perhaps with some of its ports and aliases only. */
export interface ScopedService {
  /** The service's id. */
  readonly service: string;
  readonly hostname: string;
  /** Numbers of the ports that are imported; absent: all. */
  readonly ports?: readonly number[];
  /** Keys of the aliases that are imported; absent: all. */
  readonly aliases?: readonly string[];
  /** Ports that other declarations of the same host add. */
  readonly added?: readonly { readonly service: string; readonly port: number }[];
}

/** The services that one egress listener imports, in the order in which the original considers them. */
export const servicesOf = query("servicesOf", (q, { scope, listener }: ScopeListener): readonly ScopedService[] => {
  const declared = scope.gateway === true ? undefined : q.call(egressListeners, scope)[listener];
  if (declared === undefined) {
    return [];
  }
  const hosts = egressHosts(declared.hosts, scope.namespace);
  const imported = q.call(visibleServices, scope.namespace).flatMap((header): { header: ServiceHeader; scoped: ScopedService }[] => {
    const group = groupsFor(hosts, header.namespace, header.hostname).find((candidate) => importsService(candidate, header.hostname));
    if (group === undefined) {
      return [];
    }
    const ports = declared.matchesPort ? portNumbered(q, header.id, declared.port?.number ?? 0) : {};
    if (ports === undefined) {
      return [];
    }
    const aliases = group.imported.includes("*") ? [] : q.call(aliasesOf, header.hostname);
    const kept = aliases.filter((alias) => importsService(group, splitKey(alias)[1]));
    const scoped = { service: header.id, hostname: header.hostname, ...ports, ...(kept.length < aliases.length ? { aliases: kept } : {}) };
    return [{ header, scoped }];
  });
  const chosen = namespaceByHost(imported.map(({ header }) => header), scope.namespace, features.unifiedSidecarScope(q));
  return imported.filter(({ header }) => chosen.get(header.hostname) === header.namespace).map(({ scoped }) => scoped);
});

/** All services of a scope, of each host one: what its egress listeners import, then what their VirtualServices send traffic to. */
export const scopeServices = query("scopeServices", (q, scope: ScopeRef): readonly ScopedService[] => {
  const added = new ServicesByHost(q);
  if (scope.gateway === true) {
    q.call(visibleServices, scope.namespace).forEach(({ id, hostname }) => added.add({ service: id, hostname }));
    return added.list;
  }
  for (const [listener, { matchesPort, port }] of q.call(egressListeners, scope).entries()) {
    q.call(servicesOf, { scope, listener }).forEach((scoped) => added.add(scoped));
    for (const virtualService of q.call(virtualServicesOf, { scope, listener })) {
      for (const { host, ports } of q.call(routedHosts, { virtualService, namespace: scope.namespace })) {
        const id = ownerFor(q, host, scope.namespace);
        const kept = id && (matchesPort ? portNumbered(q, id, port?.number ?? 0) : portsAmong(q, id, ports));
        if (id !== undefined && kept !== undefined) {
          added.add({ service: id, hostname: host, ...kept });
        }
      }
    }
  }
  return added.list;
});

/** Host to the scope's service of that host. */
const scopeServiceIndex = query(
  "scopeServiceIndex",
  (q, scope: ScopeRef): Readonly<Record<string, ScopedService>> =>
    Object.fromEntries(q.call(scopeServices, scope).map((scoped) => [scoped.hostname, scoped])),
);

/** The service that a host stands for in a scope. */
export const serviceInScope = query(
  "serviceInScope",
  (q, { scope, hostname }: { readonly scope: ScopeRef; readonly hostname: string }): ScopedService | undefined =>
    q.call(scopeServiceIndex, scope)[hostname],
);

/** A scoped service in full: the service itself, where nothing is left out or added. */
export const scopedService = query("scopedService", (q, scoped: ScopedService): Service | undefined => {
  const found = q.call(service, scoped.service);
  if (found === undefined || (scoped.ports === undefined && scoped.added === undefined)) {
    return found;
  }
  const own = scoped.ports === undefined ? found.ports : scoped.ports.flatMap((number) => found.ports.find((port) => port.number === number) ?? []);
  const more = (scoped.added ?? []).flatMap((from) => q.call(service, from.service)?.ports.find((port) => port.number === from.port) ?? []);
  return { ...found, ports: [...own, ...more] };
});

/** Keys of the ExternalName services that lead to a scoped service, as far as its scope imports them. */
export function scopedAliases(q: QueryContext, { hostname, aliases }: ScopedService): readonly string[] {
  return aliases ?? q.call(aliasesOf, hostname);
}

/** Of a host that several namespaces declare, the namespace that counts: the client's, else the first, a Kubernetes Service before others. */
function namespaceByHost(headers: readonly ServiceHeader[], namespace: string | undefined, preferKubernetes: boolean): ReadonlyMap<string, string> {
  const chosen = new Map<string, ServiceHeader>();
  for (const header of headers) {
    const other = chosen.get(header.hostname);
    const kubernetesFirst = preferKubernetes && other?.registry !== "Kubernetes" && header.registry === "Kubernetes" && other?.namespace !== namespace;
    if (other === undefined || header.namespace === namespace || kubernetesFirst) {
      chosen.set(header.hostname, header);
    }
  }
  return new Map([...chosen].map(([hostname, header]) => [hostname, header.namespace]));
}

/** The service that a route means by a host: of the client's namespace, else a visible one, Kubernetes before others and then the oldest. */
function ownerFor(q: QueryContext, host: string, namespace: string | undefined): string | undefined {
  const keys = q.call(servicesByHostname, host);
  const own = keys.find((key) => splitKey(key)[0] === namespace);
  if (own !== undefined) {
    return own;
  }
  const visible = keys.filter((key) => {
    const header = q.call(serviceHeader, key);
    return header !== undefined && isExportedTo(header.exportedTo, namespace);
  });
  return features.sidecarPicksBestServiceNamespace(q) ? visible[0] : [...visible].sort()[0];
}

/** The part of a service that one port is; undefined where it has no such port. */
function portNumbered(q: QueryContext, id: string, number: number): Pick<ScopedService, "ports"> | undefined {
  const ports = q.call(portNumbers, id);
  if (!ports.includes(number)) {
    return undefined;
  }
  return ports.length === 1 ? {} : { ports: [number] };
}

/** The part of a service that some ports are, 0 standing for all; undefined where it has none of them. */
function portsAmong(q: QueryContext, id: string, wanted: readonly number[]): Pick<ScopedService, "ports"> | undefined {
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

const portNumbers = query("portNumbers", (q, id: string): readonly number[] => q.call(service, id)?.ports.map((port) => port.number) ?? []);

/** Services by host, where a host that is met again is merged or left out (pilot/pkg/model/sidecar.go, appendSidecarServices). */
class ServicesByHost {
  readonly #byHost = new Map<string, ScopedService>();

  constructor(private readonly q: QueryContext) {}

  get list(): readonly ScopedService[] {
    return [...this.#byHost.values()];
  }

  add(scoped: ScopedService): void {
    const existing = this.#byHost.get(scoped.hostname);
    const replacement = existing === undefined ? scoped : this.#merged(existing, scoped);
    if (replacement !== existing) {
      this.#byHost.set(scoped.hostname, replacement);
    }
  }

  #merged(existing: ScopedService, scoped: ScopedService): ScopedService {
    if (existing.service === scoped.service && existing.ports === undefined) {
      return existing;
    }
    const [a, b] = [this.q.call(scopedService, existing), this.q.call(scopedService, scoped)];
    if (a === undefined || b === undefined || (a.registry === "Kubernetes" && b.registry !== "Kubernetes")) {
      return existing;
    }
    if (a.registry !== "Kubernetes" && b.registry === "Kubernetes") {
      return scoped;
    }
    const missing = b.ports.filter((port) => !a.ports.some((own) => own.number === port.number)).map((port) => port.number);
    if (missing.length === 0 || !mergeable(a, b)) {
      return existing;
    }
    if (existing.service === scoped.service && existing.added === undefined) {
      return { ...existing, ports: [...(existing.ports ?? []), ...missing] };
    }
    return { ...existing, added: [...(existing.added ?? []), ...missing.map((port) => ({ service: scoped.service, port }))] };
  }
}

function mergeable(a: Service, b: Service): boolean {
  const same = (x: unknown, y: unknown): boolean => JSON.stringify(x) === JSON.stringify(y);
  return (
    a.namespace === b.namespace &&
    a.resolution === b.resolution &&
    same(sorted(a.labels), sorted(b.labels)) &&
    same(sorted(a.selector), sorted(b.selector)) &&
    same([...a.exportTo].sort(), [...b.exportTo].sort())
  );
}

function sorted(labels: Readonly<Record<string, string>> = {}): readonly (readonly [string, string])[] {
  return Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
}
