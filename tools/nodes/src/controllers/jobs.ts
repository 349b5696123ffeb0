import { deleteObject } from "@istiod/kubernetes";
import type { ClusterState } from "../kube/cluster-state.js";
import { type Condition, controllerOf, controllerReference, isActive, isReady } from "../kube/objects.js";
import { keyOf } from "../kube/store.js";
import { types } from "../kube/types.js";
import { WorkQueue } from "../kube/work-queue.js";
import type { Job } from "../kube/workloads.js";
import { writeStatus } from "../kube/write-status.js";
import { createPod, deletePod, podsOf } from "./pod-control.js";
import { counted } from "./replica-sets.js";

/** Milliseconds before a failed pod is replaced, doubled for each further one. */
const BACKOFF = 500;
const MAX_BACKOFF = 60_000;

/** Runs the pods of Jobs until enough have succeeded or too many have failed. */
export function startJobs(cluster: ClusterState): () => void {
  const { jobs, pods } = cluster;
  const queue: WorkQueue = new WorkQueue(async (key) => {
    const job = jobs.get(key);
    if (!job || job.metadata.deletionTimestamp !== undefined) return;
    await reconcile(cluster, job, (delayMs) => queue.addAfter(key, delayMs));
  }, cluster.report);
  jobs.listen((job) => job && queue.add(keyOf(job)));
  pods.listen((pod, previous) => {
    const changed = pod ?? previous;
    const owner = changed && controllerOf(changed);
    if (owner?.kind === "Job") queue.add(`${changed?.metadata.namespace ?? ""}/${owner.name}`);
  });
  return () => queue.stop();
}

async function reconcile(cluster: ClusterState, job: Job, repeat: (delayMs: number) => void): Promise<void> {
  const { completions = 1, parallelism = 1, backoffLimit = 6, suspend = false, template } = job.spec;
  if (isDone(job)) return await expire(cluster, job, repeat);
  const own = podsOf(cluster, job);
  const active = own.filter(isActive);
  const succeeded = own.filter(({ status }) => status?.phase === "Succeeded").length;
  const failedPods = own.filter(({ status }) => status?.phase === "Failed");
  const restarts = active
    .flatMap(({ status }) => [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  const isFailed = failedPods.length + (template.spec.restartPolicy === "OnFailure" ? restarts : 0) > backoffLimit;
  const isComplete = succeeded >= completions;
  if (isFailed || isComplete || suspend) for (const pod of active) await deletePod(cluster, pod);
  else if (isDue(job, failedPods.length, failedPods.map(finishedAt), repeat)) {
    const missing = Math.min(parallelism, completions - succeeded) - active.length;
    const reference = controllerReference(job, "batch/v1", "Job");
    const labels = { "batch.kubernetes.io/job-name": job.metadata.name, "job-name": job.metadata.name };
    for (let count = 0; count < missing; count++) await createPod(cluster, job, reference, template, { labels });
  }
  const current = podsOf(cluster, job).filter(isActive);
  const now = new Date().toISOString();
  const condition = (type: string, reason: string, message: string): Condition[] => [
    { type, status: "True", reason, message, lastTransitionTime: now },
  ];
  await writeStatus(cluster.client, cluster.jobs, job, {
    startTime: job.status?.startTime ?? now,
    ...counted({ active: current.length, ready: current.filter(isReady).length, succeeded, failed: failedPods.length }),
    ...(isComplete && {
      completionTime: now,
      conditions: condition("Complete", "CompletionsReached", "Reached expected number of succeeded pods"),
    }),
    ...(isFailed &&
      !isComplete && {
        conditions: condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"),
      }),
  });
}

function isDone({ status }: Job): boolean {
  return (
    status?.conditions?.some(({ type, status }) => (type === "Complete" || type === "Failed") && status === "True") ??
    false
  );
}

/** Reports whether the next pod may be created. Otherwise, the Job is looked at again later. */
function isDue(_job: Job, failures: number, ended: readonly number[], repeat: (delayMs: number) => void): boolean {
  if (failures === 0) return true;
  const delay = Math.min(BACKOFF * 2 ** (failures - 1), MAX_BACKOFF);
  const left = Math.max(...ended) + delay - Date.now();
  if (left <= 0) return true;
  repeat(left);
  return false;
}

function finishedAt(pod: { readonly status?: { readonly containerStatuses?: readonly object[] } }): number {
  const states = (pod.status?.containerStatuses ?? []) as readonly {
    readonly state: { readonly terminated?: { readonly finishedAt: string } };
  }[];
  return Math.max(0, ...states.map(({ state }) => Date.parse(state.terminated?.finishedAt ?? "") || 0));
}

async function expire({ client }: ClusterState, job: Job, repeat: (delayMs: number) => void): Promise<void> {
  const { ttlSecondsAfterFinished } = job.spec;
  if (ttlSecondsAfterFinished === undefined) return;
  const finished = job.status?.conditions?.find(({ status }) => status === "True")?.lastTransitionTime ?? "";
  const left = Date.parse(finished) + ttlSecondsAfterFinished * 1000 - Date.now();
  if (left > 0) return repeat(left);
  const { name, namespace, uid } = job.metadata;
  await deleteObject(client, types.jobs, { name, namespace }, { uid, propagationPolicy: "Background" });
}
