import { workloadEntries } from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import type { Workload } from "../model/workload.js";
import { canonicalAddress } from "../canonical-address.js";
import { entryWorkload } from "../workloads/workload-entry.js";
import { objectNameOf, type ProxyIdentity } from "./proxy-identity.js";

/** WorkloadEntries by address, in the form of {@link canonicalAddress}. */
export const workloadEntriesByAddress = index(workloadEntries, "byAddress", ({ spec }) => [
  canonicalAddress(spec.address),
]);

/**
 * Returns the workload of a proxy's WorkloadEntry in a cluster and its namespace, by its primary address. Of several
 * with that address: the one with the proxy's name, else the first by name. Unlike in Istio, those of other namespaces
 * do not count: an address that anybody can write down would otherwise decide what a proxy serves and enforces.
 */
export function proxyWorkloadEntry(q: QueryContext, cluster: string, proxy: ProxyIdentity): Workload | undefined {
  const [address = ""] = proxy.addresses;
  const found = q
    .read(workloadEntriesByAddress, canonicalAddress(address))
    .filter((entry) => entry.cluster === cluster && entry.namespace === proxy.namespace)
    .flatMap(({ namespace, name }) => q.call(entryWorkload, `${cluster}/${namespace}/${name}`) ?? [])
    .filter((workload) => !workload.dnsOnly);
  const name = objectNameOf(proxy);
  return found.find((workload) => workload.name === name) ?? found[0];
}
