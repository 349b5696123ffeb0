import type { ApiClient, KubernetesObject } from "@istiod/kubernetes";
import { type LabelSelector, listObjects, resources } from "../cluster/objects.js";

/** A webhook of a MutatingWebhookConfiguration. */
export interface Webhook {
  readonly name: string;
  readonly clientConfig: {
    readonly url?: string;
    readonly caBundle?: string;
    readonly service?: {
      readonly name: string;
      readonly namespace: string;
      readonly path?: string;
      readonly port?: number;
    };
  };
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly failurePolicy?: string;
  readonly reinvocationPolicy?: string;
}

/** A MutatingWebhookConfiguration or ValidatingWebhookConfiguration. */
export interface WebhookConfiguration extends KubernetesObject {
  readonly webhooks?: readonly Webhook[];
}

export const revisionLabel = "istio.io/rev";
export const tagLabel = "istio.io/tag";
export const injectionLabel = "istio-injection";
export const podInjectionLabel = "sidecar.istio.io/inject";

/** Returns the label of an object; empty if it has none. */
export function labelOf({ metadata }: KubernetesObject, label: string): string {
  return metadata?.labels?.[label] ?? "";
}

/** Returns the name of an object. */
export function nameOfObject({ metadata }: KubernetesObject): string {
  return metadata?.name ?? "";
}

/** Returns the configurations of Istio's webhooks of injection, by name. @throws ApiError */
export async function injectionWebhooks(client: ApiClient): Promise<readonly WebhookConfiguration[]> {
  const all = await listObjects<WebhookConfiguration>(client, resources.mutatingWebhooks);
  return all.filter(({ webhooks = [] }) => webhooks.some(({ name }) => name.endsWith("istio.io")));
}
