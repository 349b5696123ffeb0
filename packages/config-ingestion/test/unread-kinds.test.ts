import { clusterReader, KubernetesSource } from "@istiod/config-ingestion";
import { backendTlsPolicyKind, gatewayClassKind, type Kind, serviceKind } from "@istiod/config-schema";
import { type ApiClient, createApiClient } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test } from "vitest";

const gatewayApi = "gateway.networking.k8s.io";

/** Creates the CustomResourceDefinition of a kind, as a release of the Gateway API has it. */
async function define(client: ApiClient, { kind, group, versions, scope }: Kind, plural: string, release: string) {
  await client.json({
    method: "POST",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    body: JSON.stringify({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}`, annotations: { [`${gatewayApi}/bundle-version`]: release } },
      spec: {
        group,
        scope: scope === "namespaced" ? "Namespaced" : "Cluster",
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: versions.map((name, i) => ({
          name,
          served: true,
          storage: i === 0,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        })),
      },
    }),
  });
}

/** Returns a client of an API server of its own. */
async function startCluster(): Promise<ApiClient> {
  const server = await startApiServer({ bookmarkIntervalMs: 200 });
  onTestFinished(() => server.stop());
  const client = createApiClient({
    cluster: { name: "test", server: server.url, skipTLSVerify: false },
    user: { name: "user", token: server.tokens.admin },
  });
  onTestFinished(() => client.close());
  return client;
}

test("a source of an API server names the definition because of which a kind is not read", async () => {
  const client = await startCluster();
  await define(client, gatewayClassKind, "gatewayclasses", "v1.6.0");
  await define(client, backendTlsPolicyKind, "backendtlspolicies", "v1.3.0");
  const kinds = [serviceKind, gatewayClassKind, backendTlsPolicyKind];
  const resources = { ignore: `gatewayclasses.${gatewayApi}` };
  const source = new KubernetesSource({ cluster: "Kubernetes", reader: clusterReader(client), kinds, resources });
  onTestFinished(() => source.stop());
  void source.start(() => undefined);
  await expect
    .poll(() => kinds.map((kind) => source.reasonUnread(kind)), { timeout: 20_000 })
    .toEqual([
      undefined,
      `PILOT_IGNORE_RESOURCES and PILOT_INCLUDE_RESOURCES exclude gatewayclasses.${gatewayApi}`,
      `CRD backendtlspolicies.${gatewayApi} has version v1.3.0 of the Gateway API, below the minimum version v1.4.0`,
    ]);
});

test("the reason ends with the definition, and is reported again for another one that is too old", async () => {
  const client = await startCluster();
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/backendtlspolicies.${gatewayApi}`;
  const reported: string[] = [];
  const reader = clusterReader(client, {
    onUnsupported: (name, { release }) => void reported.push(`${name} ${release}`),
  });
  const source = new KubernetesSource({ cluster: "Kubernetes", reader, kinds: [serviceKind, backendTlsPolicyKind] });
  onTestFinished(() => source.stop());
  void source.start(() => undefined);
  const reason = () => expect.poll(() => source.reasonUnread(backendTlsPolicyKind), { timeout: 20_000 });
  const tooOld = (release: string): string =>
    `CRD backendtlspolicies.${gatewayApi} has version ${release} of the Gateway API, below the minimum version v1.4.0`;

  await define(client, backendTlsPolicyKind, "backendtlspolicies", "v1.3.0");
  await reason().toBe(tooOld("v1.3.0"));
  await client.json({ method: "DELETE", path });
  await reason().toBeUndefined();
  await define(client, backendTlsPolicyKind, "backendtlspolicies", "v1.3.0");
  await reason().toBe(tooOld("v1.3.0"));
  await client.json({ method: "DELETE", path });
  await reason().toBeUndefined();
  await define(client, backendTlsPolicyKind, "backendtlspolicies", "v1.2.0");
  await reason().toBe(tooOld("v1.2.0"));
  expect(reported).toEqual(
    ["v1.3.0", "v1.3.0", "v1.2.0"].map((release) => `backendtlspolicies.${gatewayApi} ${release}`),
  );
});
