import { collection, type Query, query } from "@istiod/incremental";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Observed, Watch } from "../controller/controller.js";
import type { Discovery } from "./discovery.js";

const revisionLabel = "istio.io/rev";
const tagLabel = "istio.io/tag";
const defaultTag = "istio-revision-tag-default";
const defaultValidator = "istiod-default-validator";

export interface RevisionTagsOptions {
  /** Revision of this istiod. */
  readonly revision: string;
  /** Namespace of istiod, in which Services may be tags. */
  readonly systemNamespace: string;
  readonly discovered: Discovery;
}

/** An object by its revision label, and its namespace for objects without one. */
export interface Revisioned {
  readonly namespace: string;
  readonly revision: string | undefined;
}

/** The tags that name this istiod's revision, as inputs and a query of a controller. */
export interface RevisionTags {
  readonly watches: readonly Watch[];
  /** Reports whether this istiod's revision is responsible for an object. Source: pkg/revisions/tag_watcher.go. */
  readonly isMine: Query<Revisioned, boolean>;
}

interface Tag {
  readonly tag: string | undefined;
  readonly revision: string | undefined;
}

/** Returns the tags of a cluster. */
export function revisionTags({ revision, systemNamespace, discovered }: RevisionTagsOptions): RevisionTags {
  const webhooks = collection<Observed<Tag>>("MutatingWebhookConfiguration");
  const validators = collection<Observed<Tag>>("ValidatingWebhookConfiguration");
  const services = collection<Observed<Tag>>("Service");

  const myTags = query("myTags", (q): readonly string[] => {
    const tags = [webhooks, services].flatMap((tagged) =>
      [...q.keys(tagged)].flatMap((key) => q.read(tagged, key)?.value ?? []),
    );
    return [revision, ...tags.flatMap(({ tag, ...of }) => (of.revision === revision && tag ? [tag] : []))];
  });
  const isDefault = query("isDefaultRevision", (q): boolean => {
    if (q.call(myTags).includes("default")) return true;
    const validator = q.read(validators, defaultValidator);
    return validator?.value.revision === revision && q.read(webhooks, defaultTag) === undefined;
  });
  const isMine = query("isMine", (q, object: Revisioned): boolean => {
    const namespace = object.revision === undefined ? q.call(discovered.labelsOf, object.namespace) : undefined;
    if (object.revision === undefined && namespace === undefined) return true;
    const selected = object.revision ?? namespace?.[revisionLabel] ?? "";
    return q.call(myTags).includes(selected) || (selected === "" && q.call(isDefault));
  });

  const fields = { metadata: { labels: true } } as const;
  const select = ({ metadata }: KubernetesObject): Tag => ({
    tag: metadata?.labels?.[tagLabel],
    revision: metadata?.labels?.[revisionLabel],
  });
  const watches: readonly Watch<Tag>[] = [
    { type: webhookType("Mutating"), collection: webhooks, fields, select, labelSelector: tagLabel },
    {
      type: webhookType("Validating"),
      collection: validators,
      fields,
      select,
      fieldSelector: `metadata.name=${defaultValidator}`,
    },
    {
      type: { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true },
      collection: services,
      fields,
      select,
      namespace: systemNamespace,
      labelSelector: tagLabel,
    },
  ];
  return { watches: watches as readonly Watch[], isMine };
}

function webhookType(prefix: "Mutating" | "Validating"): ResourceType {
  return {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: `${prefix}WebhookConfiguration`,
    plural: `${prefix.toLowerCase()}webhookconfigurations`,
    namespaced: false,
  };
}
