import type { PodObject } from "@istiod/config-schema";
import { WORKLOAD_NAME_LABEL } from "../labels.js";

const CRON_JOB = /^(.+)-\d{8,10}$/;

/**
 * Returns the workload name of a pod: its label, else the name of its Deployment, StatefulSet, CronJob or other
 * controller, else its own. Source: `pkg/kube/util.go`.
 */
export function workloadNameOf(pod: PodObject): string {
  return pod.labels[WORKLOAD_NAME_LABEL] ?? (controllerNameOf(pod) || pod.name);
}

function controllerNameOf({ name, labels, spec: { controller, generateName } }: PodObject): string {
  if (generateName === "" || controller === undefined) return name;
  switch (controller.kind) {
    case "ReplicaSet":
      return (
        withoutHash(controller.name, labels["pod-template-hash"]) ??
        withoutHash(controller.name, labels["rollouts-pod-template-hash"]) ??
        controller.name
      );
    case "ReplicationController":
      return labels["deploymentconfig"] || controller.name;
    case "Job":
      return CRON_JOB.exec(controller.name)?.[1] ?? controller.name;
    default:
      return controller.name;
  }
}

function withoutHash(name: string, hash: string | undefined): string | undefined {
  if (hash === undefined || hash === "" || !name.endsWith(hash)) return undefined;
  return name.endsWith(`-${hash}`) ? name.slice(0, -hash.length - 1) : name;
}
