import { join } from "node:path";
import { istioTypes } from "@istiod/commands/testing";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { folder, serve } from "./serving.js";

const namespace = (name: string, labels: object = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
});

test("mistakes in objects of Kubernetes are warnings, which name the revisions that the cluster has", async () => {
  const server = await startApiServer({ types: istioTypes, namespaces: ["istio-system"], authorization: "allow-all" });
  onTestFinished(() => server.stop());
  await server.objects.create({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "istio-sidecar-injector-canary", labels: { "istio.io/rev": "canary", app: "sidecar-injector" } },
    webhooks: [
      {
        name: "rev.namespace.sidecar-injector.istio.io",
        clientConfig: { service: { name: "istiod-canary", namespace: "istio-system" } },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  });
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  const istiod = await serve({ kubeconfig }, { PILOT_ENABLE_ANALYSIS: "true" });
  const review = async (object: object): Promise<unknown> => {
    const request = { uid: "1", operation: "CREATE", namespace: "shop", object };
    const answer = await fetch(`${istiod.http}/warn`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", request }),
    });
    return ((await answer.json()) as { readonly response: unknown }).response;
  };
  const misspelled = namespace("shop", { "istio.io/rev": "canry" });
  await vi.waitFor(
    async () =>
      expect(await review(misspelled)).toEqual({
        uid: "1",
        allowed: true,
        warnings: [expect.stringMatching(/revision "canry" is not known.*did you mean "canary"\? \[MESH0049\]$/)],
      }),
    { timeout: 60_000, interval: 100 },
  );
  expect(await review(namespace("shop", { "istio.io/rev": "canary" }))).toEqual({ uid: "1", allowed: true });
  // The validation webhook denies kinds that are not Istio's, as in Istio; this one denies nothing.
  expect(await review({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } })).toEqual({
    uid: "1",
    allowed: true,
  });
});
