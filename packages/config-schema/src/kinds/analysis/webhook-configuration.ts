import { collection, type Collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { isIstioKey } from "../istio/istio-keys.js";
import type { SelectedFields } from "../selected-fields.js";
import { declareKind, type Kind } from "../kind.js";

/** One requirement of a Kubernetes label selector. */
export interface SelectorRequirement {
  readonly key: string;
  /** `In`, `NotIn`, `Exists` or `DoesNotExist`. */
  readonly operator: string;
  readonly values: readonly string[];
}

export interface WebhookSelector {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly SelectorRequirement[];
}

/** One webhook of a configuration. */
export interface Webhook {
  readonly name: string;
  /** URL outside the cluster. Undefined if a Service is called. */
  readonly url?: string;
  /** The Service that is called. Undefined if a URL is called. */
  readonly service?: { readonly namespace: string; readonly name: string };
  /** Undefined: all namespaces. */
  readonly namespaceSelector?: WebhookSelector;
  /** Undefined: all objects. */
  readonly objectSelector?: WebhookSelector;
}

export interface WebhookConfigurationSpec {
  readonly webhooks: readonly Webhook[];
}

export type WebhookConfigurationObject = ConfigObject<WebhookConfigurationSpec>;

/** MutatingWebhookConfigurations by `cluster/name`, read by analysis only. */
export const mutatingWebhookConfigurations = collection<WebhookConfigurationObject>("MutatingWebhookConfiguration");

/** ValidatingWebhookConfigurations by `cluster/name`, read by analysis only. */
export const validatingWebhookConfigurations = collection<WebhookConfigurationObject>("ValidatingWebhookConfiguration");

const selectorFields: SelectedFields = {
  matchLabels: true,
  matchExpressions: { key: true, operator: true, values: true },
};

export const mutatingWebhookConfigurationKind = webhookConfigurationKind(mutatingWebhookConfigurations);
export const validatingWebhookConfigurationKind = webhookConfigurationKind(validatingWebhookConfigurations);

function webhookConfigurationKind(of: Collection<WebhookConfigurationObject>): Kind {
  return declareKind<WebhookConfigurationSpec, undefined>({
    kind: of.name,
    group: "admissionregistration.k8s.io",
    versions: ["v1", "v1beta1"],
    scope: "cluster",
    nameRule: "mixedCaseSubdomain",
    collection: of,
    labels: "all",
    annotations: isIstioKey,
    fields: {
      webhooks: {
        name: true,
        clientConfig: { url: true, service: { namespace: true, name: true } },
        namespaceSelector: selectorFields,
        objectSelector: selectorFields,
      },
    },
    key: clusterKey,
    decode: (manifest, report) => ({
      spec: { webhooks: Fields.of(manifest.body, report).list("webhooks").map(readWebhook) },
    }),
  });
}

function readWebhook(webhook: Fields): Webhook {
  const client = webhook.object("clientConfig");
  const service = client.object("service");
  const namespaceSelector = readSelector(webhook.object("namespaceSelector"));
  const objectSelector = readSelector(webhook.object("objectSelector"));
  return {
    name: webhook.string("name"),
    ...(client.has("url") && { url: client.string("url") }),
    ...(service.present && { service: { namespace: service.string("namespace"), name: service.string("name") } }),
    ...(namespaceSelector && { namespaceSelector }),
    ...(objectSelector && { objectSelector }),
  };
}

function readSelector(selector: Fields): WebhookSelector | undefined {
  if (!selector.present) return undefined;
  const matchExpressions = selector
    .list("matchExpressions")
    .map((e) => ({ key: e.string("key"), operator: e.string("operator"), values: e.strings("values") }));
  return { matchLabels: selector.stringMap("matchLabels"), matchExpressions };
}
