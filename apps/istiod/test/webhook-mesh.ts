import { join } from "node:path";
import { istioKinds } from "@istiod/config-schema";
import type { TestContext } from "vitest";
import { folder, serve } from "./serving.js";
import { type ClusterKind, startTestCluster, type TestCluster } from "./test-clusters.js";

/**
 * An API server that calls the webhooks of an istiod in this process, as the Service `istiod`.
 *
 * @param definitions of custom resources; default as for `startTestCluster`
 */
export async function meshWithWebhooks(
  kind: ClusterKind,
  context: Pick<TestContext, "skip">,
  definitions?: readonly object[],
) {
  const cluster = await startTestCluster(kind, context, definitions);
  const directory = await folder({ kubeconfig: cluster.kubeconfig });
  const istiod = await serve(
    {
      kubeconfig: join(directory, "kubeconfig"),
      httpsAddr: "127.0.0.1:0",
      secureGRPCAddr: "127.0.0.1:0",
      namespace: "istio-system",
    },
    { REVISION: "default", CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL: "1s" },
  );
  await exposeIstiod(cluster, istiod.addresses["httpsAddr"]?.port ?? 0);
  return { cluster, istiod, client: cluster.client };
}

async function exposeIstiod(cluster: TestCluster, port: number): Promise<void> {
  const metadata = { name: "istiod", namespace: "istio-system" };
  const ports = [{ name: "https-webhook", port: 443, protocol: "TCP" }];
  await cluster.create({
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { ports },
  });
  await cluster.create({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...metadata,
      name: "istiod-1",
      labels: { "kubernetes.io/service-name": "istiod" },
    },
    addressType: "IPv4",
    endpoints: [{ addresses: ["127.0.0.1"] }],
    ports: [{ name: "https-webhook", port, protocol: "TCP" }],
  });
}

/** The validation webhooks of a revision, for objects with its label. */
export const validator = (revision: string) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: {
    name: `istio-validator-${revision}`,
    labels: { "istio.io/rev": revision },
  },
  webhooks: [
    {
      name: "rev.validation.istio.io",
      clientConfig: {
        service: {
          name: "istiod",
          namespace: "istio-system",
          path: "/validate",
        },
      },
      rules: [
        {
          operations: ["CREATE", "UPDATE"],
          apiGroups: istioKinds.map(({ group }) => group),
          apiVersions: ["*"],
          resources: ["*"],
        },
      ],
      failurePolicy: "Ignore",
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      objectSelector: {
        matchExpressions: [{ key: "istio.io/rev", operator: "In", values: [revision] }],
      },
    },
  ],
});
