import type { Collection } from "@istiod/incremental";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Observed, Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";

/** A webhook of a configuration, with the fields that istiod writes. */
export interface Webhook {
  readonly name?: string;
  readonly failurePolicy?: string;
  readonly clientConfig?: { readonly caBundle?: string };
}

/** A webhook configuration as the controllers read it. */
export interface WebhookConfiguration {
  /** Revision in the label `istio.io/rev`; undefined if it is not of Istio. */
  readonly revision: string | undefined;
  /** All fields, since an update replaces the list. */
  readonly webhooks: readonly Webhook[];
}

/** Observed configurations, by name. */
export type WebhookConfigurations = Collection<Observed<WebhookConfiguration>>;

const admissionRegistration = { group: "admissionregistration.k8s.io", version: "v1", namespaced: false } as const;

export const mutatingType: ResourceType = {
  ...admissionRegistration,
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
};

export const validatingType: ResourceType = {
  ...admissionRegistration,
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
};

/**
 * Returns the watch of a revision's webhook configurations, which include those of its tags (`istio.io/tag`).
 *
 * @param label with the revision
 */
export function webhookWatch(
  type: ResourceType,
  collection: WebhookConfigurations,
  revision: string,
  label = "istio.io/rev",
): Watch {
  return {
    type,
    collection: collection as Collection<Observed<unknown>>,
    labelSelector: `${label}=${revision}`,
    fields: { metadata: { labels: true }, webhooks: true },
    select: readConfiguration,
  };
}

function readConfiguration(object: KubernetesObject): WebhookConfiguration {
  const { webhooks } = object as { readonly webhooks?: unknown };
  return {
    revision: object.metadata?.labels?.["istio.io/rev"],
    webhooks: Array.isArray(webhooks) ? (webhooks as readonly Webhook[]) : [],
  };
}

/** Returns the write of the webhooks of a configuration; undefined if they are as desired. */
export function webhooksWrite(
  type: ResourceType,
  name: string,
  { resourceVersion, value }: Observed<WebhookConfiguration>,
  change: (webhook: Webhook) => Webhook,
): Write | undefined {
  const webhooks = value.webhooks.map(change);
  if (webhooks.every((webhook, at) => webhook === value.webhooks[at])) return undefined;
  // The version guards the other fields of the list. Istio's roles permit no patch of the validating kind.
  return {
    action: "update",
    type,
    name: { name },
    base: resourceVersion,
    fields: { metadata: { resourceVersion }, webhooks },
  };
}

/** Returns a webhook with a CA bundle; the same one if it has it. */
export function withCaBundle(webhook: Webhook, pem: string): Webhook {
  const caBundle = Buffer.from(pem).toString("base64");
  if (webhook.clientConfig?.caBundle === caBundle) return webhook;
  return { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } };
}
