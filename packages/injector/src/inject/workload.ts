import type { JsonObject } from "../go-types/json.js";
import { labelsOf, metadataOf } from "../pod-fields.js";

/** The workload that a pod belongs to. */
export interface Workload {
  readonly workload: { readonly name: string; readonly namespace: string };
  readonly workloadType: { readonly apiVersion: string; readonly kind: string };
}

/**
 * Returns the workload of a pod, guessed from its controller's name: a ReplicaSet's Deployment or Rollout, a Job's
 * CronJob, a ReplicationController's DeploymentConfig (pkg/kube/util.go, `GetDeployMetaFromPod`).
 */
export function workloadOf(pod: JsonObject): Workload {
  const { name = "", namespace = "", generateName, ownerReferences } = metadataOf(pod) as Record<string, string>;
  const owners = (ownerReferences ?? []) as unknown as readonly Owner[];
  const controller = generateName ? owners.find((owner) => owner.controller === true) : undefined;
  const own = { name, namespace };
  if (controller === undefined) return { workload: own, workloadType: { apiVersion: "v1", kind: "Pod" } };
  const { workloadName, ...workloadType } = controllerWorkload(controller, labelsOf(pod));
  return { workload: { name: workloadName || name, namespace }, workloadType };
}

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly controller?: boolean;
}

function controllerWorkload(
  { apiVersion, kind, name }: Owner,
  labels: Readonly<Record<string, string>>,
): { readonly workloadName: string; readonly apiVersion: string; readonly kind: string } {
  const stem = (label: string): string | undefined => {
    const hash = labels[label];
    if (!hash || !name.endsWith(hash)) return undefined;
    return name.endsWith(`-${hash}`) ? name.slice(0, -hash.length - 1) : name;
  };
  const replicaSet = kind === "ReplicaSet";
  const deployment = replicaSet ? stem("pod-template-hash") : undefined;
  if (deployment !== undefined) return { workloadName: deployment, apiVersion, kind: "Deployment" };
  const rollout = replicaSet ? stem("rollouts-pod-template-hash") : undefined;
  if (rollout !== undefined) return { workloadName: rollout, apiVersion: "v1alpha1", kind: "Rollout" };
  const config = labels["deploymentconfig"];
  if (kind === "ReplicationController" && config) return { workloadName: config, apiVersion, kind: "DeploymentConfig" };
  const cronJob = kind === "Job" ? /^(.+)-\d{8,10}$/.exec(name)?.[1] : undefined;
  if (cronJob !== undefined) return { workloadName: cronJob, apiVersion: "batch/v1", kind: "CronJob" };
  return { workloadName: name, apiVersion, kind };
}
