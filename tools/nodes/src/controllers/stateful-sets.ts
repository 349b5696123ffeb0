import type { ClusterState } from "../kube/cluster-state.js";
import { controllerReference, isActive, isReady, type Pod } from "../kube/objects.js";
import { keyOf } from "../kube/store.js";
import { WorkQueue } from "../kube/work-queue.js";
import type { StatefulSet } from "../kube/workloads.js";
import { writeStatus } from "../kube/write-status.js";
import { counted } from "./replica-sets.js";
import { controllerKey, createPod, deletePod, podsOf, revisionLabel, revisionOf } from "./pod-control.js";

/** Keeps the numbered pods of StatefulSets. */
export function startStatefulSets(cluster: ClusterState): () => void {
  const { client, statefulSets, pods } = cluster;
  const queue = new WorkQueue(async (key) => {
    const set = statefulSets.get(key);
    if (!set) return;
    if (set.metadata.deletionTimestamp === undefined) await step(cluster, set);
    await writeStatus(client, statefulSets, set, statusOf(cluster, set));
  }, cluster.report);
  statefulSets.listen((set) => set && queue.add(keyOf(set)));
  pods.listen((pod, previous) => {
    for (const each of [pod, previous]) {
      const owner = controllerKey(each, "StatefulSet");
      if (owner !== undefined) queue.add(owner);
    }
  });
  return () => queue.stop();
}

/**
 * Does what is allowed now: by default one pod at a time is created, deleted or replaced, while all others are ready.
 * Pods are created from the lowest number up, and deleted and replaced from the highest down.
 */
async function step(cluster: ClusterState, set: StatefulSet): Promise<void> {
  const { replicas = 1, ordinals, podManagementPolicy, updateStrategy } = set.spec;
  const isParallel = podManagementPolicy === "Parallel";
  const start = ordinals?.start ?? 0;
  const byOrdinal = new Map(podsOf(cluster, set).map((pod) => [ordinalOf(set, pod), pod]));
  const isHealthy = (pod: Pod | undefined): boolean => pod !== undefined && isActive(pod) && isReady(pod);
  for (let ordinal = start; ordinal < start + replicas; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    // A pod that has ended is replaced under the same name.
    if (pod && !isActive(pod) && pod.metadata.deletionTimestamp === undefined) await deletePod(cluster, pod);
    else if (!pod) await createNumbered(cluster, set, ordinal);
    if (!isParallel && !isHealthy(pod)) return;
  }
  const highestFirst = [...byOrdinal].sort(([a], [b]) => b - a);
  for (const [ordinal, pod] of highestFirst.filter(([ordinal]) => ordinal < start || ordinal >= start + replicas)) {
    if (isActive(pod)) await deletePod(cluster, pod);
    if (!isParallel || ordinal < start) return;
  }
  if (updateStrategy?.type === "OnDelete") return;
  const revision = revisionOf(set.spec.template);
  const partition = updateStrategy?.rollingUpdate?.partition ?? 0;
  for (const [ordinal, pod] of highestFirst) {
    if (ordinal < start + partition) return;
    if (pod.metadata.labels?.[revisionLabel] !== revision) return isActive(pod) ? deletePod(cluster, pod) : undefined;
    if (!isHealthy(pod)) return;
  }
}

function ordinalOf({ metadata }: StatefulSet, pod: Pod): number {
  return Number(pod.metadata.name.slice(metadata.name.length + 1));
}

async function createNumbered(cluster: ClusterState, set: StatefulSet, ordinal: number): Promise<void> {
  const { template, serviceName, volumeClaimTemplates = [] } = set.spec;
  const name = `${set.metadata.name}-${ordinal}`;
  // Nodes refuse claims, and say so in the pod's status.
  const claims = volumeClaimTemplates.map(({ metadata }) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
  }));
  await createPod(cluster, set, controllerReference(set, "apps/v1", "StatefulSet"), template, {
    name,
    labels: {
      "statefulset.kubernetes.io/pod-name": name,
      "apps.kubernetes.io/pod-index": String(ordinal),
      [revisionLabel]: revisionOf(template),
    },
    spec: {
      hostname: name,
      ...(serviceName !== undefined && { subdomain: serviceName }),
      ...(claims.length > 0 && { volumes: [...(template.spec.volumes ?? []), ...claims] }),
    } as Partial<Pod["spec"]>,
  });
}

function statusOf(cluster: ClusterState, set: StatefulSet): Readonly<Record<string, unknown>> {
  const active = podsOf(cluster, set).filter(isActive);
  const ready = active.filter(isReady).length;
  const revision = revisionOf(set.spec.template);
  const updated = active.filter(({ metadata }) => metadata.labels?.[revisionLabel] === revision).length;
  return {
    replicas: active.length,
    availableReplicas: ready,
    ...counted({ readyReplicas: ready, currentReplicas: active.length - updated, updatedReplicas: updated }),
    updateRevision: `${set.metadata.name}-${revision}`,
    observedGeneration: set.metadata.generation,
  };
}
