import { createHash, randomBytes } from "node:crypto";
import { ApiError, createObject, deleteObject } from "@istiod/kubernetes";
import type { ClusterState } from "../kube/cluster-state.js";
import { controllerOf, type OwnerReference, type Pod, type PodTemplate, type Stored } from "../kube/objects.js";
import { types } from "../kube/types.js";

/** Returns the pods whose controller is an object. */
export function podsOf({ pods }: ClusterState, owner: Stored): Pod[] {
  return pods.in(owner.metadata.namespace).filter((pod) => controllerOf(pod)?.uid === owner.metadata.uid);
}

/** A pod beside its template. */
interface PodChanges {
  /** Default: the owner's name, with a random end. */
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Fields of the specification that take the place of those of the template. */
  readonly spec?: Partial<Pod["spec"]>;
}

/** Creates a pod from a template. */
export async function createPod(
  { client, pods }: ClusterState,
  owner: Stored,
  reference: OwnerReference,
  template: PodTemplate,
  { labels = {}, spec: changed = {}, ...named }: PodChanges = {},
): Promise<void> {
  const { namespace, name } = owner.metadata;
  const { metadata = {}, spec } = template;
  const pod = {
    metadata: {
      name: named.name ?? `${name.slice(0, 57)}-${randomBytes(3).toString("hex").slice(0, 5)}`,
      namespace,
      labels: { ...metadata.labels, ...labels },
      ...(metadata.annotations && { annotations: metadata.annotations }),
      generateName: undefined,
      ownerReferences: [reference],
    },
    spec: { ...spec, ...changed },
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

/** Label of a pod with the revision of its template. */
export const revisionLabel = "controller-revision-hash";

/** Returns the revision of a template: equal templates have equal ones. */
export function revisionOf(template: PodTemplate): string {
  return createHash("sha256").update(JSON.stringify(template)).digest("hex").slice(0, 10);
}

/** Returns the key of the controller of a pod if it is of a kind. */
export function controllerKey(pod: Stored | undefined, kind: string): string | undefined {
  const owner = pod && controllerOf(pod);
  return owner?.kind === kind ? `${pod?.metadata.namespace ?? ""}/${owner.name}` : undefined;
}
