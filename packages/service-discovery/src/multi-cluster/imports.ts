import { serviceImports, serviceImportsByName, type ServiceImportObject } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { clusterSetHostname } from "../kubernetes/hostname.js";
import { kubernetesService, type ServiceInCluster } from "../kubernetes/service.js";
import type { Service } from "../model/service.js";
import { settings } from "../settings/environment.js";

/**
 * The ServiceImports of a service that give it an address: that of the configuration's cluster first, then by cluster.
 */
function importsOf(q: QueryContext, namespace: string, name: string): readonly ServiceImportObject[] {
  const imports = q.read(serviceImportsByName, `${namespace}/${name}`).filter(({ spec }) => spec.ips.length > 0);
  if (imports.length < 2) return imports;
  const first = settings.configCluster(q);
  return [...imports.filter(({ cluster }) => cluster === first), ...imports.filter(({ cluster }) => cluster !== first)];
}

/** Whether a service has an address of the set of clusters in this one. */
export const isImported = query("isImported", (q, { cluster, namespace, name }: ServiceInCluster): boolean => {
  return (q.read(serviceImports, `${cluster}/${namespace}/${name}`)?.spec.ips.length ?? 0) > 0;
});

/**
 * The service of the whole set of clusters: as the clusters' own service of that name, but for its host, and for its
 * addresses, which each cluster's ServiceImport has for clients there. None where no cluster imports it, or none has
 * it. Source: `serviceimportcache.go`.
 */
export const clusterSetService = query(
  "clusterSetService",
  (q, at: { readonly namespace: string; readonly name: string }): Service | undefined => {
    const imports = importsOf(q, at.namespace, at.name);
    const [first] = imports;
    const own = first && q.call(kubernetesService, at);
    if (first === undefined || own === undefined) return undefined;
    const hostname = clusterSetHostname(at.namespace, at.name);
    const key = `${at.namespace}/${hostname}`;
    return {
      ...own,
      id: key,
      key,
      hostname,
      defaultAddress: first.spec.ips[0] ?? own.defaultAddress,
      clusterAddresses: Object.fromEntries(imports.map(({ cluster, spec }) => [cluster, spec.ips])),
    };
  },
);
