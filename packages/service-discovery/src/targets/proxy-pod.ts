import { namespaces, podsByAddress, services } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { settings } from "../settings/features.js";
import { isSelectable, podWorkload } from "../workloads/pod-workload.js";
import { objectNameOf, type ProxyIdentity } from "./proxy-identity.js";

/** IDs of all clusters with namespaces or services, the config cluster first. */
const knownClusters = query("knownClusters", (q): readonly string[] => {
  const first = settings.configCluster(q);
  const others = new Set([...q.keys(namespaces), ...q.keys(services)].map((key) => key.slice(0, key.indexOf("/"))));
  others.delete(first);
  return [first, ...others];
});

/** Returns the clusters in which a proxy's workload may be. */
export function candidateClusters(q: QueryContext, proxy: ProxyIdentity): readonly string[] {
  return proxy.cluster === "" ? q.call(knownClusters) : [proxy.cluster];
}

/**
 * Returns the key (`cluster/namespace/name`) of a proxy's pod in a cluster: by the node ID, else by address in
 * its namespace under ENABLE_PROXY_FIND_POD_BY_IP.
 */
export function proxyPodKey(q: QueryContext, cluster: string, proxy: ProxyIdentity): string | undefined {
  const name = objectNameOf(proxy);
  if (name !== undefined) {
    const key = `${cluster}/${proxy.namespace}/${name}`;
    if (q.call(podWorkload, key) !== undefined) return key;
  }
  if (!settings.proxyFindPodByIp(q)) return undefined;
  const [address = ""] = proxy.addresses;
  const found = q
    .read(podsByAddress, address)
    .filter(({ cluster: of, namespace }) => of === cluster && namespace === proxy.namespace)
    .filter((pod) => pod.status?.podIPs[0] === address && isSelectable(pod));
  const [pod] = found;
  return pod === undefined ? undefined : `${cluster}/${pod.namespace}/${pod.name}`;
}
