import { ApiError, patchObject } from "@istiod/kubernetes";
import type { ClusterState } from "../kube/cluster-state.js";
import { isFinished, type Pod, type Stored } from "../kube/objects.js";
import { keyOf } from "../kube/store.js";
import { types } from "../kube/types.js";
import { WorkQueue } from "../kube/work-queue.js";
import { mergeConditions } from "../agent/pod-status.js";
import { writeStatus } from "../kube/write-status.js";

/** Binds pods to the node with the fewest pods that matches their node selector. Resources are not considered. */
export function startScheduler(cluster: ClusterState): () => void {
  const { client, pods, nodes } = cluster;
  const queue = new WorkQueue(async (key) => {
    const pod = pods.get(key);
    if (!pod || !isPending(pod)) return;
    const node = chooseNode(pod, nodes.values(), pods.values());
    if (node === undefined) {
      const reason = { reason: "Unschedulable", message: "no node matches the pod's nodeSelector" };
      const condition = { type: "PodScheduled", status: "False" as const, ...reason };
      const conditions = mergeConditions(pod.status?.conditions ?? [], [condition], new Date().toISOString());
      return await writeStatus(client, pods, pod, { conditions });
    }
    const { name, namespace, uid } = pod.metadata;
    const merge = { metadata: { uid }, spec: { nodeName: node } };
    try {
      pods.put(await patchObject<Pod>(client, types.pods, { name, namespace }, { merge }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "not-found") throw error;
    }
  }, cluster.report);
  pods.listen((pod) => pod && isPending(pod) && queue.add(keyOf(pod)));
  nodes.listen(() =>
    pods
      .values()
      .filter(isPending)
      .forEach((pod) => queue.add(keyOf(pod))),
  );
  return () => queue.stop();
}

function isPending(pod: Pod): boolean {
  const { nodeName = "", schedulerName = "default-scheduler" } = pod.spec;
  return (
    nodeName === "" && schedulerName === "default-scheduler" && !isFinished(pod) && !pod.metadata.deletionTimestamp
  );
}

function chooseNode(pod: Pod, nodes: readonly Stored[], pods: readonly Pod[]): string | undefined {
  const selector = Object.entries(pod.spec.nodeSelector ?? {});
  const suitable = nodes.filter(
    (node) =>
      (node as Stored & { readonly spec?: { readonly unschedulable?: boolean } }).spec?.unschedulable !== true &&
      selector.every(([key, value]) => node.metadata.labels?.[key] === value),
  );
  const load = (name: string): number => pods.filter(({ spec }) => spec.nodeName === name).length;
  const names = suitable.map(({ metadata }) => ({ name: metadata.name, pods: load(metadata.name) }));
  return names.sort((a, b) => a.pods - b.pods || (a.name < b.name ? -1 : 1))[0]?.name;
}
