import { type ApiClient, deleteObject, type ResourceType } from "@istiod/kubernetes";
import type { Cluster } from "../cluster/cluster.js";
import { listObjects, resources } from "../cluster/objects.js";
import {
  labelOf,
  nameOfObject,
  revisionLabel,
  tagLabel,
  type WebhookConfiguration,
} from "../webhooks/injection-webhooks.js";
import type { ServiceObject } from "./tag-objects.js";

/** A tag, or a revision without tags, in the form of `istioctl tag list -o json`. */
export interface TagDescription {
  /** Empty for a revision. */
  readonly tag: string;
  readonly revision: string;
  /** Namespaces that are labeled with the tag. */
  readonly namespaces: readonly string[];
}

/** Returns the tags of a cluster, and the revisions that have none, by revision and name. @throws ApiError */
export async function listTags({ client, istioNamespace }: Cluster): Promise<readonly TagDescription[]> {
  const labeled = [
    ...(await listObjects(client, resources.mutatingWebhooks, { labelSelector: revisionLabel })),
    ...(await listObjects(client, resources.services, { namespace: istioNamespace, labelSelector: revisionLabel })),
  ].map((object) => ({ tag: labelOf(object, tagLabel), revision: labelOf(object, revisionLabel) }));
  const tagged = new Set(labeled.filter(({ tag }) => tag !== "").map(({ revision }) => revision));
  const distinct = new Map(labeled.map((each) => [`${each.revision}\n${each.tag}`, each]));
  const shown = [...distinct].filter(([, { tag, revision }]) => tag !== "" || !tagged.has(revision));
  const sorted = shown.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  return Promise.all(
    sorted.map(async (each) => ({
      ...each,
      namespaces: each.tag === "" ? [] : await taggedNamespaces(client, each.tag),
    })),
  );
}

/** Returns the namespaces that are labeled with a tag. @throws ApiError */
export async function taggedNamespaces(client: ApiClient, tag: string): Promise<readonly string[]> {
  return (await listObjects(client, resources.namespaces, { labelSelector: `${revisionLabel}=${tag}` })).map(
    nameOfObject,
  );
}

/** The objects of a revision's installation. */
export interface RevisionObjects {
  readonly injection: readonly WebhookConfiguration[];
  readonly validation: readonly WebhookConfiguration[];
  readonly services: readonly ServiceObject[];
}

/** Returns the objects of a revision, without those of its tags. @throws ApiError */
export async function revisionObjects({ client, istioNamespace }: Cluster, revision: string): Promise<RevisionObjects> {
  const labelSelector = `${revisionLabel}=${revision},!${tagLabel}`;
  return {
    injection: await listObjects(client, resources.mutatingWebhooks, { labelSelector }),
    validation: await listObjects(client, resources.validatingWebhooks, { labelSelector }),
    services: await listObjects(client, resources.services, {
      namespace: istioNamespace,
      labelSelector: `${labelSelector},app=istiod`,
    }),
  };
}

/** The objects of a tag. */
export interface TaggedObjects {
  readonly injection: readonly WebhookConfiguration[];
  readonly services: readonly ServiceObject[];
}

/** Returns the objects of a tag. @throws ApiError */
export async function taggedObjects({ client, istioNamespace }: Cluster, tag: string): Promise<TaggedObjects> {
  const labelSelector = `${tagLabel}=${tag}`;
  return {
    injection: await listObjects(client, resources.mutatingWebhooks, { labelSelector }),
    services: await listObjects(client, resources.services, { namespace: istioNamespace, labelSelector }),
  };
}

/** Deletes the objects of a tag. @throws ApiError */
export async function deleteTag({ client, istioNamespace }: Cluster, tag: string): Promise<void> {
  const labelSelector = `${tagLabel}=${tag}`;
  const types: readonly (readonly [ResourceType, string | undefined])[] = [
    [resources.mutatingWebhooks, undefined],
    [resources.validatingWebhooks, undefined],
    [resources.services, istioNamespace],
  ];
  for (const [type, namespace] of types)
    for (const { metadata } of await listObjects(client, type, { namespace, labelSelector }))
      await deleteObject(client, type, { name: metadata?.name ?? "", ...(namespace && { namespace }) });
}
