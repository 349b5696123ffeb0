import { randomBytes } from "node:crypto";
import { ApiError, createObject, deleteObject } from "@istiod/kubernetes";
import type { ClusterState } from "../kube/cluster-state.js";
import { controllerOf, type OwnerReference, type Pod, type PodTemplate, type Stored } from "../kube/objects.js";
import { types } from "../kube/types.js";

/** Returns the pods whose controller is an object. */
export function podsOf({ pods }: ClusterState, owner: Stored): Pod[] {
  return pods.in(owner.metadata.namespace).filter((pod) => controllerOf(pod)?.uid === owner.metadata.uid);
}

/** Creates a pod from a template. Its name begins with that of its owner. */
export async function createPod(
  { client, pods }: ClusterState,
  owner: Stored,
  reference: OwnerReference,
  template: PodTemplate,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { namespace, name } = owner.metadata;
  const { metadata = {}, spec } = template;
  const pod = {
    metadata: {
      name: `${name.slice(0, 57)}-${randomBytes(3).toString("hex").slice(0, 5)}`,
      namespace,
      labels: { ...metadata.labels, ...labels },
      ...(metadata.annotations && { annotations: metadata.annotations }),
      generateName: undefined,
      ownerReferences: [reference],
    },
    spec,
  };
  pods.put(await createObject<Pod>(client, types.pods, pod as unknown as Pod));
}

export async function deletePod({ client, pods }: ClusterState, pod: Pod): Promise<void> {
  const { namespace, name, uid } = pod.metadata;
  try {
    await deleteObject(client, types.pods, { namespace, name }, { uid });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "not-found") throw error;
  }
  pods.expectDeletion(pod);
}
