import type { ClusterState } from "../kube/cluster-state.js";
import { controllerReference, isActive, isReady, type Pod, type Stored } from "../kube/objects.js";
import { keyOf } from "../kube/store.js";
import { WorkQueue } from "../kube/work-queue.js";
import type { DaemonSet } from "../kube/workloads.js";
import { writeStatus } from "../kube/write-status.js";
import { counted } from "./replica-sets.js";
import { controllerKey, createPod, deletePod, podsOf, revisionLabel, revisionOf } from "./pod-control.js";

/** Keeps a pod of each DaemonSet on each node that matches its node selector. */
export function startDaemonSets(cluster: ClusterState): () => void {
  const { client, daemonSets, nodes, pods } = cluster;
  const queue = new WorkQueue(async (key) => {
    const set = daemonSets.get(key);
    if (!set) return;
    if (set.metadata.deletionTimestamp === undefined) await place(cluster, set);
    await writeStatus(client, daemonSets, set, statusOf(cluster, set));
  }, cluster.report);
  daemonSets.listen((set) => set && queue.add(keyOf(set)));
  nodes.listen(() => daemonSets.values().forEach((set) => queue.add(keyOf(set))));
  pods.listen((pod, previous) => {
    for (const each of [pod, previous]) {
      const owner = controllerKey(each, "DaemonSet");
      if (owner !== undefined) queue.add(owner);
    }
  });
  return () => queue.stop();
}

/** Creates missing pods, deletes those that are too many, and replaces one with an old template. */
async function place(cluster: ClusterState, set: DaemonSet): Promise<void> {
  const { template, updateStrategy } = set.spec;
  const revision = revisionOf(template);
  const wanted = suitableNodes(cluster, set);
  const active = podsOf(cluster, set).filter(isActive);
  const reference = controllerReference(set, "apps/v1", "DaemonSet");
  for (const pod of active) {
    const first = active.find(({ spec }) => spec.nodeName === pod.spec.nodeName);
    if (!wanted.includes(pod.spec.nodeName ?? "") || pod !== first) await deletePod(cluster, pod);
  }
  // A pod that is being deleted still has its node.
  const occupied = new Set(podsOf(cluster, set).map(({ spec }) => spec.nodeName));
  for (const nodeName of wanted.filter((name) => !occupied.has(name)))
    await createPod(cluster, set, reference, template, { labels: { [revisionLabel]: revision }, spec: { nodeName } });
  if (updateStrategy?.type === "OnDelete") return;
  const present = podsOf(cluster, set).filter(isActive);
  const old = present.filter((pod) => pod.metadata.labels?.[revisionLabel] !== revision);
  const next = old.find((pod) => !isReady(pod)) ?? (present.every(isReady) ? old[0] : undefined);
  if (next !== undefined && present.length === wanted.length) await deletePod(cluster, next);
}

function suitableNodes({ nodes }: ClusterState, { spec }: DaemonSet): readonly string[] {
  const selector = Object.entries(spec.template.spec.nodeSelector ?? {});
  return nodes
    .values()
    .filter(({ metadata }: Stored) => selector.every(([key, value]) => metadata.labels?.[key] === value))
    .map(({ metadata }) => metadata.name);
}

function statusOf(cluster: ClusterState, set: DaemonSet): Readonly<Record<string, unknown>> {
  const wanted = suitableNodes(cluster, set);
  const active = podsOf(cluster, set).filter(isActive);
  const placed = active.filter(({ spec }: Pod) => wanted.includes(spec.nodeName ?? ""));
  const ready = placed.filter(isReady).length;
  const revision = revisionOf(set.spec.template);
  return {
    desiredNumberScheduled: wanted.length,
    currentNumberScheduled: placed.length,
    numberMisscheduled: active.length - placed.length,
    numberReady: ready,
    ...counted({
      numberAvailable: ready,
      numberUnavailable: wanted.length - ready,
      updatedNumberScheduled: placed.filter(({ metadata }) => metadata.labels?.[revisionLabel] === revision).length,
    }),
    observedGeneration: set.metadata.generation,
  };
}
