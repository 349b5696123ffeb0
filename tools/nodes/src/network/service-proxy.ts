import { isIPv4 } from "node:net";
import type { ClusterState } from "../kube/cluster-state.js";
import { WorkQueue } from "../kube/work-queue.js";
import type { EndpointSlice } from "../kube/objects.js";
import type { PodNetwork } from "./pod-network.js";
import { serviceRules } from "./service-rules.js";

export const SERVICE_NAME = "kubernetes.io/service-name";

/** Keeps the router's address translation equal to Services and their EndpointSlices. */
export function startServiceProxy(cluster: ClusterState, network: PodNetwork): () => void {
  let applied = "";
  const queue = new WorkQueue(async () => {
    const slices = slicesByService(cluster);
    const services = cluster.services.values();
    const rules = serviceRules(
      services,
      ({ metadata: { namespace, name } }) => slices.get(`${namespace}/${name}`) ?? [],
      (address) => (isIPv4(address) && address.startsWith("127.") ? network.hostAddress : address),
    );
    if (rules === applied) return;
    await network.translate(rules);
    applied = rules;
  }, cluster.report);
  const changed = (): void => queue.add("rules");
  cluster.services.listen(changed);
  cluster.endpointSlices.listen(changed);
  return () => queue.stop();
}

/** Returns the EndpointSlices of each Service, by `namespace/name`. */
export function slicesByService({ endpointSlices }: ClusterState): Map<string, EndpointSlice[]> {
  const result = new Map<string, EndpointSlice[]>();
  for (const slice of endpointSlices.values()) {
    const { namespace, labels } = slice.metadata;
    const key = `${namespace}/${labels?.[SERVICE_NAME] ?? ""}`;
    const slices = result.get(key);
    if (slices) slices.push(slice);
    else result.set(key, [slice]);
  }
  return result;
}
