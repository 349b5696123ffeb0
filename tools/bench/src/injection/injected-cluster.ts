import type { ApiClient } from "@istiod/kubernetes";
import type { ApiServer, ObjectInput } from "@istiod/kubernetes/testing";
import { injectionConfiguration } from "./configuration.js";
import { type PodKind, podKinds } from "./pod-creator.js";

/** Namespace of istiod. */
export const system = "istio-system";

/** Returns the objects that istiod and the Pods of both kinds need. */
export async function injectedCluster(): Promise<readonly ObjectInput[]> {
  return [
    namespace(system),
    namespace("plain"),
    namespace("injected", { "istio-injection": "enabled" }),
    ...(await injectionConfiguration(system)),
    ...podKinds.map(serviceAccount),
  ];
}

const namespace = (name: string, labels: Readonly<Record<string, string>> = {}): ObjectInput => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
});

const serviceAccount = (kind: PodKind): ObjectInput => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "web", namespace: kind },
});

/** Returns the self-signed root of an istiod that reads the API server, in PEM. */
export function selfSignedRoot({ objects }: Pick<ApiServer, "objects">): string {
  const secret = objects.get({ apiVersion: "v1", kind: "Secret", namespace: system, name: "istio-ca-secret" }) as
    | { readonly data?: Readonly<Record<string, string>> }
    | undefined;
  return Buffer.from(secret?.data?.["ca-cert.pem"] ?? "", "base64").toString();
}

/** Returns the Service that the webhook is called as, with a port of this machine as its endpoint. */
export function exposedWebhook(port: number): readonly ObjectInput[] {
  const ports = [{ name: "https-webhook", port: 443, protocol: "TCP" }];
  return [
    { apiVersion: "v1", kind: "Service", metadata: { name: "istiod", namespace: system }, spec: { ports } },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "istiod-1", namespace: system, labels: { "kubernetes.io/service-name": "istiod" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["127.0.0.1"] }],
      ports: [{ name: "https-webhook", port, protocol: "TCP" }],
    },
  ];
}

/** Returns a webhook that calls istiod for the Pods of labelled namespaces, and trusts its self-signed root. */
export async function injectionWebhook(client: ApiClient): Promise<ObjectInput> {
  const { data } = await client.json<{ readonly data: Readonly<Record<string, string>> }>({
    path: `/api/v1/namespaces/${system}/secrets/istio-ca-secret`,
  });
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "istio-sidecar-injector" },
    webhooks: [
      {
        name: "namespace.sidecar-injector.istio.io",
        clientConfig: {
          service: { name: "istiod", namespace: system, path: "/inject", port: 443 },
          caBundle: data["ca-cert.pem"],
        },
        rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
        namespaceSelector: { matchLabels: { "istio-injection": "enabled" } },
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  };
}
