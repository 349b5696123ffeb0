import type { ClusterState } from "../kube/cluster-state.js";
import { controllerReference, isActive, isReady, type Pod } from "../kube/objects.js";
import { keyOf } from "../kube/store.js";
import { WorkQueue } from "../kube/work-queue.js";
import { writeStatus } from "../kube/write-status.js";
import { controllerKey, createPod, deletePod, podsOf } from "./pod-control.js";

/** Keeps the number of pods of ReplicaSets. */
export function startReplicaSets(cluster: ClusterState): () => void {
  const { client, replicaSets, pods } = cluster;
  const queue = new WorkQueue(async (key) => {
    const set = replicaSets.get(key);
    if (!set) return;
    const { replicas = 1, template } = set.spec;
    const active = podsOf(cluster, set).filter(isActive);
    if (set.metadata.deletionTimestamp === undefined) {
      const reference = controllerReference(set, "apps/v1", "ReplicaSet");
      for (let count = active.length; count < replicas; count++) await createPod(cluster, set, reference, template);
      const surplus = [...active].sort(byUsefulness).slice(0, Math.max(active.length - replicas, 0));
      for (const pod of surplus) await deletePod(cluster, pod);
    }
    const current = podsOf(cluster, set).filter(isActive);
    const ready = current.filter(isReady).length;
    await writeStatus(client, replicaSets, set, {
      replicas: current.length,
      fullyLabeledReplicas: current.length,
      ...counted({ readyReplicas: ready, availableReplicas: ready }),
      observedGeneration: set.metadata.generation,
    });
  }, cluster.report);
  replicaSets.listen((set) => set && queue.add(keyOf(set)));
  pods.listen((pod, previous) => {
    for (const each of [pod, previous]) {
      const owner = controllerKey(each, "ReplicaSet");
      if (owner !== undefined) queue.add(owner);
    }
  });
  return () => queue.stop();
}

/** Counts of zero are left out by the API server. */
export function counted(counts: Readonly<Record<string, number>>): Record<string, number | null> {
  return Object.fromEntries(Object.entries(counts).map(([field, count]) => [field, count === 0 ? null : count]));
}

/** Pods that are not ready first, then the youngest. */
function byUsefulness(a: Pod, b: Pod): number {
  const [first, second] = [a, b].map((pod) => (pod.spec.nodeName ? 1 : 0) + (isReady(pod) ? 2 : 0));
  const age = (b.metadata.creationTimestamp ?? "").localeCompare(a.metadata.creationTimestamp ?? "");
  return (first ?? 0) - (second ?? 0) || age || a.metadata.name.localeCompare(b.metadata.name);
}
