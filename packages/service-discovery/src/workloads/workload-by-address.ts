import { podsByAddress } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { canonicalAddress } from "../canonical-address.js";
import type { Workload } from "../model/workload.js";
import { workloadEntriesByAddress } from "../targets/proxy-workload-entry.js";
import { isSelectable, podWorkload } from "./pod-workload.js";
import { entryWorkload } from "./workload-entry.js";

/** The workload with this IP address in any cluster: a ready pod without host network, else a WorkloadEntry. */
export const workloadByAddress = query("workloadByAddress", (q, address: string): Workload | undefined => {
  const pod = q
    .read(podsByAddress, address)
    .find((candidate) => !candidate.spec.hostNetwork && isSelectable(candidate));
  if (pod !== undefined) return q.call(podWorkload, `${pod.cluster}/${pod.namespace}/${pod.name}`);
  for (const { cluster, namespace, name } of q.read(workloadEntriesByAddress, canonicalAddress(address))) {
    const workload = q.call(entryWorkload, `${cluster}/${namespace}/${name}`);
    if (workload !== undefined) return workload;
  }
  return undefined;
});
