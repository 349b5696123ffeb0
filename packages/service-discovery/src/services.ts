import { serviceEntries, serviceImportsByName } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { aliasedHost } from "./aliases.js";
import { clusterSetHostname, parseKubernetesHostname, kubernetesHostname } from "./kubernetes/hostname.js";
import {
  kubernetesService,
  kubernetesServiceObjects,
  kubernetesServicesByName,
} from "./kubernetes/kubernetes-service.js";
import type { Service, ServicePort } from "./model/service.js";
import { clusterSetService } from "./multi-cluster/imports.js";
import { addressesOf } from "./service-entry/convert-service-entry.js";
import { backendKeys, backendNamespacesOf } from "./service-entry/backend-entries.js";
import { settings } from "./settings/features.js";
import {
  entryService,
  serviceEntriesByKey,
  serviceEntriesOf,
  type EntryDeclaration,
} from "./service-entry/entry-service.js";

/** A declaration of a service, with the fields that determine its precedence. */
interface Declaration {
  readonly id: string;
  readonly creationTimestamp: number;
  readonly entry?: EntryDeclaration;
}

/**
 * All declarations of `namespace/hostname`, the owner first: the Kubernetes Service if there is one, so that a
 * ServiceEntry cannot claim its name, else the oldest ServiceEntry.
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

/** Returns the owner of a name in Kubernetes: the Service, or for a clusterset hostname the ServiceImport's service. */
function kubernetesOwner(
  q: QueryContext,
  namespace: string,
  hostname: string,
): Pick<Service, "creationTimestamp"> | undefined {
  const host = parseKubernetesHostname(q, namespace, hostname);
  if (host === undefined) return undefined;
  const { name } = host;
  return host.clusterSet
    ? q.call(clusterSetService, { namespace, name })
    : kubernetesServiceObjects(q, namespace, name)[0];
}

/**
 * IDs of the services declared for `namespace/hostname`, the owner first. There are several if ServiceEntries share a
 * host or have several addresses.
 */
export const declarationsOf = query("declarationsOf", (q, key: string): readonly string[] =>
  q.call(declarations, key).map(({ id }) => id),
);

/**
 * The service with this ID: `namespace/hostname` for the owner of the name, or another ID of `declarationsOf`. It does
 * not depend on endpoints.
 */
export const service = query("service", (q, id: string): Service | undefined => {
  const declaration = q.call(declarations, keyOfId(id)).find((candidate) => candidate.id === id);
  if (declaration === undefined) return undefined;
  if (declaration.entry !== undefined) return q.call(entryService, { ...declaration.entry, id });
  const [namespace, hostname] = splitKey(id);
  const host = parseKubernetesHostname(q, namespace, hostname);
  if (host === undefined) return undefined;
  const { name } = host;
  const found = q.call(host.clusterSet ? clusterSetService : kubernetesService, { namespace, name });
  return found?.resolution === "Alias" ? resolveAlias(q, found) : found;
});

/**
 * Returns an alias with the host that it stands for and the ports of that host: its own have no meaning, since clients
 * connect to the host. A host outside of the mesh has no known ports.
 */
function resolveAlias(q: QueryContext, alias: Service): Service {
  const externalName = q.call(aliasedHost, alias.hostname);
  if (externalName === undefined) return alias;
  const ports = q.call(portsOfHost, externalName);
  return { ...alias, externalName, ports: ports.length === 0 ? alias.ports : ports };
}

/** The ports of all services with a hostname. */
const portsOfHost = query("portsOfHost", (q, hostname: string): readonly ServicePort[] => {
  const ports = new Map<string, ServicePort>();
  for (const id of q.call(servicesByHostname, hostname).flatMap((key) => q.call(declarationsOf, key))) {
    for (const port of q.call(service, id)?.ports ?? []) {
      const at = `${port.number}/${port.protocol === "UDP" ? "UDP" : "TCP"}`;
      if (!ports.has(at)) ports.set(at, port);
    }
  }
  return [...ports.values()];
});

/**
 * IDs of all services in Istio's order: by creation time, name (of the Kubernetes Service, or the host of a
 * ServiceEntry) and namespace. Among equals, Kubernetes Services come first, and of their two hostnames the
 * alphabetically first. Source: `SortServicesByCreationTime`.
 */
export const serviceOrder = query("serviceOrder", (q): readonly string[] => {
  const keys = new Set(q.keys(kubernetesServicesByName).map((at) => kubernetesKey(q, at)));
  if (settings.clusterSetHosts(q)) for (const at of q.keys(serviceImportsByName)) keys.add(clusterSetKey(at));
  for (const key of [...q.keys(serviceEntriesByKey), ...backendKeys(q)]) keys.add(key);
  const ranked: Rank[] = [];
  for (const key of keys) {
    const [namespace, hostname] = splitKey(key);
    for (const { id, creationTimestamp, entry } of declarationsOrKey(q, key)) {
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

/** Returns the declarations of a key. If they cannot be read, its owner is listed, so that who reads it finds out. */
function declarationsOrKey(q: QueryContext, key: string): readonly Declaration[] {
  try {
    return q.call(declarations, key);
  } catch {
    return [{ id: key, creationTimestamp: 0 }];
  }
}

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
 * Keys (`namespace/hostname`) of all services with exactly this hostname: Kubernetes Services first, then by age and
 * namespace.
 */
export const servicesByHostname = query("servicesByHostname", (q, hostname: string): readonly string[] => {
  const namespaces = new Set([
    ...q.read(entriesByHost, hostname).map((entry) => entry.namespace),
    ...backendNamespacesOf(q, hostname),
  ]);
  const [, namespace] = hostname.split(".");
  if (namespace !== undefined && parseKubernetesHostname(q, namespace, hostname) !== undefined)
    namespaces.add(namespace);
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

/** Splits a service key into namespace and hostname. */
export function splitKey(key: string): readonly [namespace: string, hostname: string] {
  const slash = key.indexOf("/");
  return [key.slice(0, slash), key.slice(slash + 1)];
}

/** Returns the key (`namespace/hostname`) of a service ID. */
export function keyOfId(id: string): string {
  const afterNamespace = id.indexOf("/") + 1;
  const end = id.indexOf("/", afterNamespace);
  return end < 0 ? id : id.slice(0, end);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
