import { type ApiClient, type KubernetesObject, Reflector, type ResourceType } from "@istiod/kubernetes";

const webhookConfigurations: ResourceType = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  namespaced: false,
};

/** Name of the webhook configuration that the default revision's tag consists of. */
const defaultTag = "istio-revision-tag-default";
const revisionLabel = "istio.io/rev";

/** The default revision of a cluster, which its revision tag names. */
export interface DefaultRevision {
  /** Returns the revision; empty if there is none, or it is not known. */
  current(): string;
  stop(): void;
}

/** Follows the default revision of a cluster. */
export function followDefaultRevision(client: ApiClient): DefaultRevision {
  let revision = "";
  const reflector = new Reflector<KubernetesObject>({
    client,
    resource: webhookConfigurations,
    fieldSelector: `metadata.name=${defaultTag}`,
    fields: { fields: { metadata: { labels: true } } },
    handler: {
      events(events) {
        for (const event of events)
          revision = event.type === "set" ? (event.object.metadata?.labels?.[revisionLabel] ?? "") : "";
      },
      state: () => undefined,
    },
  });
  reflector.start();
  return { current: () => revision, stop: () => reflector.stop() };
}
