import { createHash } from "node:crypto";
import { createObject, deleteObject, patchObject } from "@istiod/kubernetes";
import { mergeConditions } from "../agent/pod-status.js";
import type { ClusterState } from "../kube/cluster-state.js";
import { controllerOf, controllerReference, isActive, isReady } from "../kube/objects.js";
import { keyOf } from "../kube/store.js";
import { types } from "../kube/types.js";
import { WorkQueue } from "../kube/work-queue.js";
import type { Deployment, ReplicaSet } from "../kube/workloads.js";
import { writeStatus } from "../kube/write-status.js";
import { podsOf } from "./pod-control.js";
import { counted } from "./replica-sets.js";
import { nextStep, rollingLimits } from "./rolling-update.js";

const HASH_LABEL = "pod-template-hash";
const REVISION = "deployment.kubernetes.io/revision";

/** Keeps the ReplicaSets of Deployments, with rolling updates. */
export function startDeployments(cluster: ClusterState): () => void {
  const { deployments, replicaSets, pods } = cluster;
  const queue = new WorkQueue(async (key) => {
    const deployment = deployments.get(key);
    if (deployment && deployment.metadata.deletionTimestamp === undefined) await reconcile(cluster, deployment);
  }, cluster.report);
  const ownerOf = (set: ReplicaSet | undefined): void => {
    const owner = set && controllerOf(set);
    if (owner?.kind === "Deployment") queue.add(`${set?.metadata.namespace ?? ""}/${owner.name}`);
  };
  deployments.listen((deployment) => deployment && queue.add(keyOf(deployment)));
  replicaSets.listen((set, previous) => ownerOf(set ?? previous));
  pods.listen((pod, previous) => {
    const owner = controllerOf(pod ?? previous ?? missing);
    const { namespace } = (pod ?? previous ?? missing).metadata;
    if (owner?.kind === "ReplicaSet") ownerOf(replicaSets.get(`${namespace}/${owner.name}`));
  });
  return () => queue.stop();
}

const missing = { metadata: { name: "", namespace: "", uid: "", resourceVersion: "" } };

async function reconcile(cluster: ClusterState, deployment: Deployment): Promise<void> {
  const { uid, namespace } = deployment.metadata;
  const sets = cluster.replicaSets.in(namespace).filter((set) => controllerOf(set)?.uid === uid);
  const hash = templateHash(deployment);
  const existing = sets.find(({ metadata }) => metadata.labels?.[HASH_LABEL] === hash);
  const current = existing ?? (deployment.spec.paused ? undefined : await createSet(cluster, deployment, hash, sets));
  const old = sets.filter((set) => set !== existing).sort((a, b) => revisionOf(a) - revisionOf(b));
  if (current && !deployment.spec.paused) await roll(cluster, deployment, current, old);
  else if (sets.length === 1 && sets[0]) await scale(cluster, sets[0], deployment.spec.replicas ?? 1);
  await report(cluster, deployment, current, old);
}

/** The same template has the same hash, with its fields in any order. */
function templateHash({ spec }: Deployment): string {
  const sorted = (_key: string, value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return createHash("sha256").update(JSON.stringify(spec.template, sorted)).digest("hex").slice(0, 10);
}

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[REVISION] ?? "0");
}

async function createSet(
  { client, replicaSets }: ClusterState,
  deployment: Deployment,
  hash: string,
  sets: readonly ReplicaSet[],
): Promise<ReplicaSet> {
  const { name, namespace } = deployment.metadata;
  const { selector, template } = deployment.spec;
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  const revision = String(Math.max(0, ...sets.map(revisionOf)) + 1);
  const set = {
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels,
      annotations: { [REVISION]: revision },
      ownerReferences: [controllerReference(deployment, "apps/v1", "Deployment")],
    },
    spec: {
      replicas: 0,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
  const created = await createObject<ReplicaSet>(client, types.replicaSets, set as unknown as ReplicaSet);
  replicaSets.put(created);
  return created;
}

async function roll(
  cluster: ClusterState,
  { spec }: Deployment,
  current: ReplicaSet,
  old: readonly ReplicaSet[],
): Promise<void> {
  const { replicas: desired = 1, strategy } = spec;
  const hasOldPods = (): boolean => old.some((set) => podsOf(cluster, set).some((pod) => !isFinishedPod(pod)));
  if (strategy?.type === "Recreate") {
    for (const set of old) await scale(cluster, set, 0);
    if (!hasOldPods()) await scale(cluster, current, desired);
    return;
  }
  const count = (set: ReplicaSet) => ({
    replicas: set.spec.replicas ?? 1,
    available: podsOf(cluster, set).filter((pod) => isActive(pod) && isReady(pod)).length,
  });
  const limits = rollingLimits(desired, strategy?.rollingUpdate ?? {});
  const step = nextStep({ desired, ...limits, current: count(current), old: old.map(count) });
  await scale(cluster, current, step.current);
  for (const [index, set] of old.entries()) await scale(cluster, set, step.old[index] ?? 0);
}

function isFinishedPod({ status }: { readonly status?: { readonly phase?: string } }): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

async function scale({ client, replicaSets }: ClusterState, set: ReplicaSet, replicas: number): Promise<void> {
  if (set.spec.replicas === replicas) return;
  const { name, namespace, uid } = set.metadata;
  const merge = { metadata: { uid }, spec: { replicas } };
  replicaSets.put(await patchObject<ReplicaSet>(client, types.replicaSets, { name, namespace }, { merge }));
}

/** Writes the status, and deletes ReplicaSets beyond the history's limit. */
async function report(
  cluster: ClusterState,
  deployment: Deployment,
  current: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Promise<void> {
  const { replicas: desired = 1, revisionHistoryLimit = 10, strategy } = deployment.spec;
  const active = (set: ReplicaSet | undefined) => (set ? podsOf(cluster, set).filter(isActive) : []);
  const pods = [...active(current), ...old.flatMap(active)];
  const updated = active(current).length;
  const ready = pods.filter(isReady).length;
  const { maxUnavailable } = rollingLimits(desired, strategy?.rollingUpdate ?? {});
  const isAvailable = ready >= desired - maxUnavailable;
  const isComplete = updated === desired && pods.length === desired && ready === desired;
  const now = new Date().toISOString();
  const conditions = [
    isAvailable
      ? { type: "Available", status: "True" as const, reason: "MinimumReplicasAvailable" }
      : { type: "Available", status: "False" as const, reason: "MinimumReplicasUnavailable" },
    {
      type: "Progressing",
      status: "True" as const,
      reason: isComplete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
    },
  ];
  await writeStatus(cluster.client, cluster.deployments, deployment, {
    observedGeneration: deployment.metadata.generation,
    ...counted({
      replicas: pods.length,
      updatedReplicas: updated,
      readyReplicas: ready,
      availableReplicas: ready,
      unavailableReplicas: Math.max(desired - ready, 0),
    }),
    conditions: mergeConditions(deployment.status?.conditions ?? [], conditions, now),
  });
  const unused = old.filter((set) => set.spec.replicas === 0 && podsOf(cluster, set).length === 0);
  for (const { metadata } of unused.slice(0, Math.max(unused.length - revisionHistoryLimit, 0)))
    await deleteObject(cluster.client, types.replicaSets, metadata, { uid: metadata.uid });
}
