import { serviceImports, serviceImportsByName, type ServiceImportObject } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { clusterSetHostname } from "../kubernetes/hostname.js";
import { kubernetesService, type ServiceInCluster } from "../kubernetes/kubernetes-service.js";
import type { Service } from "../model/service.js";
import { settings } from "../settings/features.js";

/** Returns the ServiceImports of a service with an address: that of the config cluster first, then by cluster. */
function importsWithAddress(q: QueryContext, namespace: string, name: string): readonly ServiceImportObject[] {
  const imports = q.read(serviceImportsByName, `${namespace}/${name}`).filter(({ spec }) => spec.ips.length > 0);
  if (imports.length < 2) return imports;
  const first = settings.configCluster(q);
  return [...imports.filter(({ cluster }) => cluster === first), ...imports.filter(({ cluster }) => cluster !== first)];
}

/** Reports whether a cluster imports a service, with a clusterset address. */
export const isImported = query("isImported", (q, { cluster, namespace, name }: ServiceInCluster): boolean => {
  return (q.read(serviceImports, `${cluster}/${namespace}/${name}`)?.spec.ips.length ?? 0) > 0;
});

/**
 * The service of a clusterset hostname: the Kubernetes Service of that name with the clusterset hostname and the
 * addresses of each cluster's ServiceImport. Undefined if no cluster imports it, or none has the Service. Source:
 * `serviceimportcache.go`.
 */
export const clusterSetService = query(
  "clusterSetService",
  (q, at: { readonly namespace: string; readonly name: string }): Service | undefined => {
    const imports = importsWithAddress(q, at.namespace, at.name);
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
