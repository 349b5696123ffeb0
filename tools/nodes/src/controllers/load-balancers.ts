import type { ClusterState } from "../kube/cluster-state.js";
import { keyOf } from "../kube/store.js";
import { WorkQueue } from "../kube/work-queue.js";
import { writeStatus } from "../kube/write-status.js";

/** Gives Services of type LoadBalancer an address of their own, which this machine and pods reach. */
export function startLoadBalancers(cluster: ClusterState, range: string): () => void {
  const { client, services } = cluster;
  const queue = new WorkQueue(async (key) => {
    const service = services.get(key);
    if (!service) return;
    const current = service.status?.loadBalancer?.ingress?.[0]?.ip;
    const isWanted = service.spec.type === "LoadBalancer";
    if (isWanted === (current !== undefined)) return;
    const used = new Set(services.values().map(({ status }) => status?.loadBalancer?.ingress?.[0]?.ip));
    const free = Array.from({ length: 254 }, (_, index) => `${range}.254.${index + 1}`).find((ip) => !used.has(ip));
    if (free === undefined) throw new Error(`Service ${key}: no address left for load balancers, at most 254`);
    await writeStatus(client, services, service, { loadBalancer: isWanted ? { ingress: [{ ip: free }] } : {} });
  }, cluster.report);
  services.listen((service) => service && queue.add(keyOf(service)));
  return () => queue.stop();
}
