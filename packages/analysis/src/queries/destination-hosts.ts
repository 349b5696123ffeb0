import {
  configCluster,
  serviceEntries,
  serviceEntriesByHost,
  type ServiceEntryObject,
  type ServiceObject,
  servicesByNamespace,
} from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { index, query, type QueryContext } from "@istiod/incremental";
import { features, resolveHost } from "@istiod/push-context";
import { aliasedHost, kubernetesServicesByName } from "@istiod/service-discovery";
import { listNames, quotedNearest } from "../suggestions.js";

/** A host in an object, and the context that resolves it. */
export interface HostReference {
  readonly host: string;
  readonly namespace: string;
  /** `exportTo` of the object. Services that are exported only to these namespaces are found, too. */
  readonly exportTo: readonly string[];
}

/** The service behind a host. */
export interface DestinationHost {
  /** Numbers of its ports, in order. */
  readonly ports: readonly number[];
  /** The ServiceEntries that declare it, by their keys; empty for a Service. */
  readonly serviceEntries: readonly string[];
  /** The wildcard host that declares it, if none is equal to it. */
  readonly wildcard?: string;
}

const wildcardServiceEntries = index(serviceEntries, "byWildcardHost", ({ spec }) =>
  spec.hosts.filter((host) => host.startsWith("*")),
);

/**
 * Returns the service of a host; undefined if none is visible. A Service takes precedence over ServiceEntries, and an
 * exact host over wildcards, of which the longest applies. An alias (ExternalName) is the service that it stands for.
 */
export const destinationHost = query(
  "destinationHost",
  (q: QueryContext, { host, namespace, exportTo }: HostReference): DestinationHost | undefined => {
    const hostname = resolveHost(host, { namespace, domain: features.domainSuffix(q) });
    const { services, entries } = declarations(q, hostname);
    const scopes = exportTo.length === 0 ? [namespace] : exportTo.map((scope) => (scope === "." ? namespace : scope));
    for (const scope of ["*", ...scopes]) {
      const service = preferOwnCluster(
        q,
        services.filter((s) => scopesOfService(s).includes(scope)),
      );
      if (service !== undefined && isAlias(service)) {
        const aliased = q.call(aliasedHost, hostname);
        return aliased === undefined ? undefined : q.call(destinationHost, { host: aliased, namespace, exportTo });
      }
      if (service !== undefined) return { ports: service.spec.ports.map(({ port }) => port), serviceEntries: [] };
      const visible = entries.filter((entry) => scopesOfEntry(entry).includes(scope));
      if (visible.length > 0) return serviceOfEntries(visible);
    }
    return byWildcard(q, host, namespace);
  },
);

function byWildcard(q: QueryContext, host: string, namespace: string): DestinationHost | undefined {
  const suffix = host.startsWith("*") ? host.slice(1) : host;
  const wildcards = q.keys(wildcardServiceEntries).filter((wildcard) => suffix.endsWith(wildcard.slice(1)));
  for (const wildcard of wildcards.sort((a, b) => b.length - a.length)) {
    const visible = q
      .read(wildcardServiceEntries, wildcard)
      .filter((entry) => scopesOfEntry(entry).some((scope) => scope === "*" || scope === namespace));
    if (visible.length === 0) continue;
    return wildcard === host ? serviceOfEntries(visible) : { ...serviceOfEntries(visible), wildcard };
  }
  return undefined;
}

function isAlias({ spec }: ServiceObject): boolean {
  return spec.type === "ExternalName" && spec.externalName !== "" && spec.clusterIP !== "None";
}

interface Declarations {
  readonly services: readonly ServiceObject[];
  readonly entries: readonly ServiceEntryObject[];
}

/** Returns the Services and ServiceEntries that declare a fully qualified host, regardless of visibility. */
function declarations(q: QueryContext, hostname: string): Declarations {
  const entries = q.read(serviceEntriesByHost, hostname);
  const named = kubernetesName(hostname, features.domainSuffix(q));
  if (named === undefined) return { services: [], entries };
  const short = named.name.includes(".")
    ? []
    : q.read(serviceEntriesByHost, named.name).filter(({ namespace }) => namespace === named.namespace);
  return {
    services: q.read(kubernetesServicesByName, `${named.namespace}/${named.name}`),
    entries: [...entries, ...short],
  };
}

/**
 * The namespaces that declare a fully qualified host, whatever its visibility: those of the Service if there is one,
 * else of ServiceEntries.
 */
export const namespacesOfHost = query("namespacesOfHost", (q, hostname: string): readonly string[] => {
  const { services, entries } = declarations(q, hostname);
  return [...new Set((services.length > 0 ? services : entries).map(({ namespace }) => namespace))].sort();
});

/** Reports whether a fully qualified host is that of a Service of a namespace. Then no other namespace declares it. */
export function isServiceOf(q: QueryContext, hostname: string, namespace: string): boolean {
  const named = kubernetesName(hostname, features.domainSuffix(q));
  return named?.namespace === namespace && q.members(kubernetesServicesByName, `${namespace}/${named.name}`).length > 0;
}

/** Returns the name and namespace in a host `name.namespace.svc.<domain>`; undefined for any other. */
export function kubernetesName(
  host: string,
  domain: string,
): { readonly name: string; readonly namespace: string } | undefined {
  const suffix = `.svc.${domain}`;
  if (!host.endsWith(suffix)) return undefined;
  const dot = host.lastIndexOf(".", host.length - suffix.length - 1);
  return dot <= 0 ? undefined : { name: host.slice(0, dot), namespace: host.slice(dot + 1, -suffix.length) };
}

/** A host of a Service that does not exist, and the names of Services of its namespace that are similar to its own. */
export interface MisspelledService {
  readonly name: string;
  readonly namespace: string;
  readonly near: readonly string[];
}

/**
 * Returns what a host of a Service that does not exist may be a misspelling of; undefined if no name is similar, for
 * hosts that somebody declares, and for those of pods: others than istiod know more Services.
 */
export function misspelledService(q: QueryContext, host: string): MisspelledService | undefined {
  const named = kubernetesName(host, features.domainSuffix(q));
  if (named === undefined || named.name.includes(".") || q.call(namespacesOfHost, host).length > 0) return undefined;
  const near = nearestNames(named.name, q.call(serviceNamesIn, named.namespace));
  return near.length === 0 ? undefined : { ...named, near };
}

function preferOwnCluster(q: QueryContext, services: readonly ServiceObject[]): ServiceObject | undefined {
  return services.length < 2
    ? services[0]
    : (services.find(({ cluster }) => cluster === configCluster(q)) ?? services[0]);
}

function serviceOfEntries(entries: readonly ServiceEntryObject[]): DestinationHost {
  const ports: number[] = [];
  for (const { spec } of entries) {
    const known = new Set(ports);
    ports.push(...spec.ports.map(({ number }) => number).filter((number) => !known.has(number)));
  }
  return { ports, serviceEntries: entries.map(({ namespace, name }) => `${namespace}/${name}`) };
}

function scopesOfEntry({ namespace, spec }: ServiceEntryObject): readonly string[] {
  if (spec.exportTo.length === 0) return ["*"];
  return spec.exportTo.map((scope) => (scope === "." ? namespace : scope));
}

function scopesOfService({ namespace, annotations }: ServiceObject): readonly string[] {
  const exportTo = annotations["networking.istio.io/exportTo"] ?? "";
  if (exportTo === "") return ["*"];
  return exportTo.split(",").map((scope) => (scope.trim() === "." ? namespace : scope.trim()));
}

/** Explains why no service is behind a host: it is not exported, it is in another namespace, or it is misspelled. */
export function explainMissingHost(q: QueryContext, { host, namespace }: HostReference): string {
  const domain = features.domainSuffix(q);
  const hostname = resolveHost(host, { namespace, domain });
  const { services, entries } = declarations(q, hostname);
  const aliased = q.call(aliasedHost, hostname);
  const alias = services.find(isAlias);
  if (alias !== undefined && isExportedHere(scopesOfService(alias), namespace)) {
    const what = `Service ${alias.namespace}/${alias.name} is an alias (ExternalName)`;
    return aliased === undefined
      ? `${what} that leads back to itself`
      : `${what} of ${JSON.stringify(aliased)}, and ${explainMissingHost(q, { host: aliased, namespace, exportTo: [] })}`;
  }
  const declared = [...services, ...entries].map((object) => `${object.kind} ${object.namespace}/${object.name}`);
  if (declared.length > 0)
    return `${listNames(declared)} is not exported to namespace ${namespace}; add the namespace to its exportTo`;
  return `no Service or ServiceEntry declares it${quotedNearest(nearestHosts(q, { host, namespace }, kubernetesName(hostname, domain), domain))}`;
}

function isExportedHere(scopes: readonly string[], namespace: string): boolean {
  return scopes.includes("*") || scopes.includes(namespace);
}

function nearestHosts(
  q: QueryContext,
  at: Pick<HostReference, "host" | "namespace">,
  named: ReturnType<typeof kubernetesName>,
  domain: string,
): readonly string[] {
  if (named === undefined) return nearestNames(at.host, q.keys(serviceEntriesByHost));
  const { name, namespace } = named;
  const near = nearestNames(name, q.call(serviceNamesIn, namespace));
  if (near.length > 0)
    return near.map((other) => (at.host.includes(".") ? `${other}.${namespace}.svc.${domain}` : other));
  const elsewhere = q.keys(kubernetesServicesByName).filter((key) => key.endsWith(`/${name}`));
  return elsewhere.slice(0, 3).map((key) => `${name}.${key.slice(0, key.indexOf("/"))}.svc.${domain}`);
}

/** The names of the Services of a namespace. */
const serviceNamesIn = query("serviceNamesIn", (q, namespace: string): readonly string[] => [
  ...new Set(q.read(servicesByNamespace, namespace).map(({ name }) => name)),
]);
