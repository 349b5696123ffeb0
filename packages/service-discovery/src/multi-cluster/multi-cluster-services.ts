import { serviceExports, serviceImports, services } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { clusterSetHostname, kubernetesHostname } from "../kubernetes/hostname.js";
import type { ServiceInCluster } from "../kubernetes/kubernetes-service.js";
import { settings } from "../settings/features.js";
import { discoverability, isExported, type Discoverability } from "./exports.js";
import { clusterSetService, isImported } from "./imports.js";

/** A service that a cluster exports or imports. */
export interface MultiClusterService extends ServiceInCluster {
  readonly exported: boolean;
  readonly imported: boolean;
  /** The first clusterset address in this cluster; empty if there is none. */
  readonly clusterSetAddress: string;
  /** Discoverability of an exported service's endpoints, by hostname. */
  readonly discoverability: Readonly<Record<string, Discoverability>>;
}

/**
 * All exported and imported services, by cluster, namespace and name. Empty if multi-cluster services are disabled.
 * Source: `MCSServices` of the Kubernetes registry.
 */
export const multiClusterServices = query("multiClusterServices", (q): readonly MultiClusterService[] => {
  const exports = settings.exportedOnly(q)
    ? [...q.keys(serviceExports), ...(settings.exportsAll(q) ? q.keys(services) : [])]
    : [];
  const imports = settings.clusterSetHosts(q) ? q.keys(serviceImports) : [];
  const imported = new Set(imports);
  return [...new Set([...exports, ...imports])].sort().flatMap((key) => {
    const at = parseKey(key);
    const exported = settings.exportedOnly(q) && q.call(isExported, at);
    if (!exported && !imported.has(key)) return [];
    const clusterSetAddress = clusterSetAddressOf(q, at);
    const hosts = exported ? discoverabilityByHost(q, at, key, clusterSetAddress !== "") : {};
    return [{ ...at, exported, imported: imported.has(key), clusterSetAddress, discoverability: hosts }];
  });
});

function clusterSetAddressOf(q: QueryContext, { cluster, namespace, name }: ServiceInCluster): string {
  const shared = settings.clusterSetHosts(q) && q.call(isImported, { cluster, namespace, name });
  return (shared && q.call(clusterSetService, { namespace, name })?.clusterAddresses[cluster]?.[0]) || "";
}

function discoverabilityByHost(
  q: QueryContext,
  at: ServiceInCluster,
  key: string,
  hasClusterSet: boolean,
): Readonly<Record<string, Discoverability>> {
  const own = q.read(services, key) !== undefined;
  return {
    ...(own && {
      [kubernetesHostname(q, at.namespace, at.name)]: q.call(discoverability, { ...at, clusterSet: false }),
    }),
    ...(hasClusterSet && {
      [clusterSetHostname(at.namespace, at.name)]: q.call(discoverability, { ...at, clusterSet: true }),
    }),
  };
}

function parseKey(key: string): ServiceInCluster {
  const [cluster = "", namespace = "", name = ""] = key.split("/");
  return { cluster, namespace, name };
}
