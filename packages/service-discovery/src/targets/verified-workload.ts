import { pods } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { canonicalAddress } from "../canonical-address.js";
import type { Labels } from "../model/service.js";
import { podWorkload } from "../workloads/pod-workload.js";
import { entryWorkload } from "../workloads/workload-entry.js";
import { candidateClusters } from "./proxy-pod.js";
import { objectNameOf, type ProxyIdentity } from "./proxy-identity.js";
import { workloadEntriesByAddress } from "./proxy-workload-entry.js";

/**
 * Returns the labels of the Pod or WorkloadEntry that a proxy with this service account may be: a Pod with the proxy's
 * name, or a WorkloadEntry, in the proxy's namespace, with its primary address and service account. Labels in node
 * metadata are not considered. Undefined if there is none.
 */
export function verifiedLabels(q: QueryContext, proxy: ProxyIdentity, serviceAccount: string): Labels | undefined {
  for (const cluster of candidateClusters(q, proxy)) {
    const found = podLabels(q, cluster, proxy, serviceAccount) ?? entryLabels(q, cluster, proxy, serviceAccount);
    if (found !== undefined) return found;
  }
  return undefined;
}

function podLabels(q: QueryContext, cluster: string, proxy: ProxyIdentity, serviceAccount: string): Labels | undefined {
  const name = objectNameOf(proxy);
  if (name === undefined) return undefined;
  const key = `${cluster}/${proxy.namespace}/${name}`;
  const workload = q.call(podWorkload, key);
  const isIts = workload?.serviceAccount === serviceAccount && workload.addresses.includes(proxy.addresses[0] ?? "");
  return isIts ? q.read(pods, key)?.labels : undefined;
}

function entryLabels(
  q: QueryContext,
  cluster: string,
  { addresses: [address = ""], namespace }: ProxyIdentity,
  serviceAccount: string,
): Labels | undefined {
  for (const entry of q.read(workloadEntriesByAddress, canonicalAddress(address))) {
    if (entry.cluster !== cluster || entry.namespace !== namespace) continue;
    const workload = q.call(entryWorkload, `${cluster}/${namespace}/${entry.name}`);
    if (workload !== undefined && workload.serviceAccount === serviceAccount) return workload.labels;
  }
  return undefined;
}
