import { workloadEntries } from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import type { Workload } from "../model/workload.js";
import { entryWorkload } from "../workloads/workload-entry.js";
import { objectNameOf, type ProxyIdentity } from "./proxy-identity.js";

/** WorkloadEntries by address. */
export const workloadEntriesByAddress = index(workloadEntries, "byAddress", ({ spec }) => [spec.address]);

/**
 * Returns the workload of a proxy's WorkloadEntry in a cluster, by its primary address. Of several with that address:
 * the one with the proxy's name, else one in its namespace, else the first by name.
 */
export function proxyWorkloadEntry(q: QueryContext, cluster: string, proxy: ProxyIdentity): Workload | undefined {
  const [address = ""] = proxy.addresses;
  const found = q
    .read(workloadEntriesByAddress, address)
    .filter((entry) => entry.cluster === cluster)
    .flatMap(({ namespace, name }) => q.call(entryWorkload, `${cluster}/${namespace}/${name}`) ?? [])
    .filter((workload) => !workload.dnsOnly);
  const name = objectNameOf(proxy);
  return (
    found.find((workload) => workload.name === name && workload.namespace === proxy.namespace) ??
    found.find((workload) => workload.namespace === proxy.namespace) ??
    found[0]
  );
}
