import { serviceExports, services } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { isClusterLocal } from "../cluster-local.js";
import { kubernetesHostname } from "../kubernetes/hostname.js";
import type { ServiceInCluster } from "../kubernetes/kubernetes-service.js";
import { settings } from "../settings/features.js";
import { isImported } from "./imports.js";

/** Clients that may receive a cluster's endpoints of a service. */
export type Discoverability = "everywhere" | "same cluster";

/**
 * Reports whether a cluster exports a service with a ServiceExport. Under `ENABLE_MCS_AUTO_EXPORT`, every Service that
 * is not cluster-local counts as exported; Istio creates the ServiceExports instead.
 */
export const isExported = query("isExported", (q, { cluster, namespace, name }: ServiceInCluster): boolean => {
  const key = `${cluster}/${namespace}/${name}`;
  if (q.read(serviceExports, key) !== undefined) return true;
  return (
    settings.exportsAll(q) &&
    q.read(services, key) !== undefined &&
    !q.call(isClusterLocal, kubernetesHostname(q, namespace, name))
  );
});

/**
 * Discoverability of a cluster's endpoints under the service's own hostname or its clusterset hostname. A service that
 * the cluster does not have under that hostname is not exported. Source:
 * `pilot/pkg/serviceregistry/kube/controller/serviceexportcache.go`.
 */
export const discoverability = query(
  "discoverability",
  (q, at: ServiceInCluster & { readonly clusterSet: boolean }): Discoverability => {
    if (!settings.exportedOnly(q)) return "everywhere";
    const { cluster, namespace, name, clusterSet } = at;
    if (!clusterSet && settings.ownHostsAreLocal(q)) return "same cluster";
    const exists = clusterSet
      ? q.call(isImported, { cluster, namespace, name })
      : q.read(services, `${cluster}/${namespace}/${name}`) !== undefined;
    return exists && q.call(isExported, { cluster, namespace, name }) ? "everywhere" : "same cluster";
  },
);
