import { serviceEntries, serviceImportsByName, services } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { clusterSetHostname, kubernetesHost, kubernetesHostname } from "./kubernetes/hostname.js";
import { kubernetesService, kubernetesServiceObjects, kubernetesServicesByName } from "./kubernetes/service.js";
import type { Service } from "./model/service.js";
import { clusterSetService } from "./multi-cluster/imports.js";
import { addressesOf } from "./service-entry/convert.js";
import { settings } from "./settings/environment.js";
import { entryService, serviceEntriesByKey, serviceEntriesOf, type EntryDeclaration } from "./service-entry/service.js";

/** What decides a declaration's place among others. */
interface Declaration {
  readonly id: string;
  readonly creationTimestamp: number;
  readonly entry?: EntryDeclaration;
}

/**
 * All that declare `namespace/hostname`, the owner first: the Kubernetes Service if there is one, so that nobody takes
 * its name before it exists, else the oldest ServiceEntry.
 */
const declarations = query("serviceDeclarations", (q, key: string): readonly Declaration[] => {
  const [namespace, hostname] = splitKey(key);
  const out: Declaration[] = [];
  const kubernetes = kubernetesOwner(q, namespace, hostname);
  if (kubernetes !== undefined) out.push({ id: key, creationTimestamp: kubernetes.creationTimestamp });
  for (const object of serviceEntriesOf(q, key)) {
    for (const address of addressesOf(object)) {
      out.push({
        id: out.length === 0 ? key : `${key}/${object.name}/${address}`,
        creationTimestamp: object.creationTimestamp,
        entry: { namespace, objectName: object.name, hostname, address },
      });
    }
  }
  return out;
});

/**
 * What of Kubernetes owns a name: Services, or ServiceImports and the Services whose names they carry to the set of
 * clusters.
 */
function kubernetesOwner(
  q: QueryContext,
  namespace: string,
  hostname: string,
): Pick<Service, "creationTimestamp"> | undefined {
  const host = kubernetesHost(q, namespace, hostname);
  if (host === undefined) return undefined;
  const { name } = host;
  return host.clusterSet
    ? q.call(clusterSetService, { namespace, name })
    : kubernetesServiceObjects(q, namespace, name)[0];
}

/**
 * Ids of the services declared for `namespace/hostname`, its owner first. Several exist where ServiceEntries share a
 * host or have several addresses.
 */
export const declarationsOf = query("declarationsOf", (q, key: string): readonly string[] =>
  q.call(declarations, key).map(({ id }) => id),
);

/**
 * The service with this id: `namespace/hostname` for the owner of the name, or an id that `declarationsOf` gives.
 * It does not depend on endpoints.
 */
export const service = query("service", (q, id: string): Service | undefined => {
  const declaration = q.call(declarations, keyOfId(id)).find((candidate) => candidate.id === id);
  if (declaration === undefined) return undefined;
  if (declaration.entry !== undefined) return q.call(entryService, { ...declaration.entry, id });
  const [namespace, hostname] = splitKey(id);
  const host = kubernetesHost(q, namespace, hostname);
  if (host === undefined) return undefined;
  const { name } = host;
  return q.call(host.clusterSet ? clusterSetService : kubernetesService, { namespace, name });
});

/**
 * Ids of all services in the order in which Istio considers them: by creation, then name (of the Kubernetes Service;
 * the host of a ServiceEntry), then namespace. Of equals, Kubernetes comes first, and of its two hosts the first by
 * name. Source: `SortServicesByCreationTime`.
 */
export const serviceOrder = query("serviceOrder", (q): readonly string[] => {
  const keys = new Set(q.keys(kubernetesServicesByName).map((at) => kubernetesKey(q, at)));
  if (settings.clusterSetHosts(q)) for (const at of q.keys(serviceImportsByName)) keys.add(clusterSetKey(at));
  for (const key of q.keys(serviceEntriesByKey)) keys.add(key);
  const ranked: Rank[] = [];
  for (const key of keys) {
    const [namespace, hostname] = splitKey(key);
    for (const { id, creationTimestamp, entry } of q.call(declarations, key)) {
      const name = entry === undefined ? hostname.slice(0, hostname.indexOf(".")) : hostname;
      ranked.push({
        id,
        creationTimestamp,
        name,
        namespace,
        registry: entry === undefined ? 0 : 1,
        objectName: entry?.objectName ?? "",
      });
    }
  }
  return ranked.sort(byAge).map(({ id }) => id);
});

interface Rank {
  readonly id: string;
  readonly creationTimestamp: number;
  readonly name: string;
  readonly namespace: string;
  readonly registry: number;
  readonly objectName: string;
}

function byAge(a: Rank, b: Rank): number {
  return (
    a.creationTimestamp - b.creationTimestamp ||
    compare(a.name, b.name) ||
    compare(a.namespace, b.namespace) ||
    a.registry - b.registry ||
    compare(a.objectName, b.objectName) ||
    compare(a.id, b.id)
  );
}

const entriesByHost = index(serviceEntries, "serviceHosts", (entry) => entry.spec.hosts);

/**
 * Keys (`namespace/hostname`) of all services with exactly this hostname: Kubernetes first, then by age, then by
 * namespace.
 */
export const servicesByHostname = query("servicesByHostname", (q, hostname: string): readonly string[] => {
  const namespaces = new Set(q.read(entriesByHost, hostname).map((entry) => entry.namespace));
  const [, namespace] = hostname.split(".");
  if (namespace !== undefined && kubernetesHost(q, namespace, hostname) !== undefined) namespaces.add(namespace);
  return [...namespaces]
    .flatMap((candidate) => {
      const key = `${candidate}/${hostname}`;
      const [owner] = q.call(declarations, key);
      return owner === undefined ? [] : [{ key, owner }];
    })
    .sort(
      (a, b) =>
        Number(a.owner.entry !== undefined) - Number(b.owner.entry !== undefined) ||
        a.owner.creationTimestamp - b.owner.creationTimestamp ||
        compare(a.key, b.key),
    )
    .map(({ key }) => key);
});

/** Kubernetes Services that are another name for a host. */
const aliasesByTarget = index(services, "byExternalName", ({ spec }) =>
  spec.type === "ExternalName" && spec.externalName !== "" && spec.clusterIP !== "None" ? [spec.externalName] : [],
);

/**
 * Keys (`namespace/hostname`) of the ExternalName services that lead to this host, over any number of steps, sorted by
 * namespace and host. Names that lead in a circle lead nowhere. A host that is itself an alias has none: its target has
 * them.
 */
export const aliasesOf = query("aliasesOf", (q, hostname: string): readonly string[] => {
  const found = new Map<string, string>();
  const visit = (target: string): void => {
    for (const { namespace, name } of q.read(aliasesByTarget, target)) {
      const alias = kubernetesHostname(q, namespace, name);
      const key = `${namespace}/${alias}`;
      if (found.has(key) || alias === hostname || q.call(service, key)?.externalName !== target) continue;
      found.set(key, alias);
      visit(alias);
    }
  };
  if (!isAlias(q, hostname)) visit(hostname);
  return [...found.keys()].sort((a, b) => {
    const [namespaceA, hostA] = splitKey(a);
    const [namespaceB, hostB] = splitKey(b);
    return compare(namespaceA, namespaceB) || compare(hostA, hostB);
  });
});

function isAlias(q: QueryContext, hostname: string): boolean {
  return q.call(servicesByHostname, hostname).some((key) => q.call(service, key)?.resolution === "Alias");
}

function clusterSetKey(at: string): string {
  const slash = at.indexOf("/");
  const namespace = at.slice(0, slash);
  return `${namespace}/${clusterSetHostname(namespace, at.slice(slash + 1))}`;
}

function kubernetesKey(q: QueryContext, at: string): string {
  const slash = at.indexOf("/");
  const namespace = at.slice(0, slash);
  return `${namespace}/${kubernetesHostname(q, namespace, at.slice(slash + 1))}`;
}

/** The namespace and hostname of a key. */
export function splitKey(key: string): readonly [namespace: string, hostname: string] {
  const slash = key.indexOf("/");
  return [key.slice(0, slash), key.slice(slash + 1)];
}

/** The key (`namespace/hostname`) that a service id is for. */
export function keyOfId(id: string): string {
  const afterNamespace = id.indexOf("/") + 1;
  const end = id.indexOf("/", afterNamespace);
  return end < 0 ? id : id.slice(0, end);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
