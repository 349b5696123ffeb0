import { serviceExports, services } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { isClusterLocal } from "../cluster-local.js";
import { kubernetesHostname } from "../kubernetes/hostname.js";
import type { ServiceInCluster } from "../kubernetes/service.js";
import { settings } from "../settings/environment.js";
import { isImported } from "./imports.js";

/** Who may be sent the endpoints that a cluster has of a service, under one of its hosts. */
export type Discoverability = "everywhere" | "same cluster";

/**
 * Whether a cluster offers its endpoints of a service to the others: by a ServiceExport. With `ENABLE_MCS_AUTO_EXPORT`,
 * which has the original write one for each Service that is not local to its cluster, each such Service is exported
 * without.
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
 * Who may be sent a cluster's endpoints of a service under its own host, or under that of the set of clusters. A
 * service that the cluster does not have under that host is not offered. Source:
 * `pilot/pkg/serviceregistry/kube/controller/serviceexportcache.go`.
 */
export const discoverability = query(
  "discoverability",
  (q, at: ServiceInCluster & { readonly clusterSet: boolean }): Discoverability => {
    if (!settings.exportedOnly(q)) return "everywhere";
    const { cluster, namespace, name, clusterSet } = at;
    if (!clusterSet && settings.ownHostsAreLocal(q)) return "same cluster";
    const has = clusterSet
      ? q.call(isImported, { cluster, namespace, name })
      : q.read(services, `${cluster}/${namespace}/${name}`) !== undefined;
    return has && q.call(isExported, { cluster, namespace, name }) ? "everywhere" : "same cluster";
  },
);
