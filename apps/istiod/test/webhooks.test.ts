import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { renewSelfSignedRoot, type StoredRoot } from "@istiod/ca";
import { createObject, type KubernetesObject } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { scrape } from "@istiod/prometheus/testing";
import { webhookSeries } from "./istio-series.js";
import { istioTypes } from "@istiod/commands/testing";
import { folder, serve } from "./serving.js";
import { clusterKinds, type TestCluster, typeOf } from "./test-clusters.js";
import { meshWithWebhooks, validator } from "./webhook-mesh.js";

const until = { timeout: 60_000, interval: 20 };

const rootSecret = {
  namespace: "istio-system",
  name: "istio-ca-secret",
} as const;

/** Returns the self-signed root of istiod. */
async function rootOf(cluster: TestCluster): Promise<StoredRoot> {
  const secret = await cluster.read<{
    readonly data?: Readonly<Record<string, string>>;
  }>("Secret", rootSecret.name, rootSecret.namespace);
  const text = (key: string): string => Buffer.from(secret?.data?.[key] ?? "", "base64").toString();
  return { certificate: text("ca-cert.pem"), privateKey: text("ca-key.pem") };
}

/** Replaces the root, as another istiod does. */
async function replaceRoot(cluster: TestCluster, { certificate }: StoredRoot): Promise<void> {
  const data = { "ca-cert.pem": Buffer.from(certificate).toString("base64") };
  await cluster.merge({
    apiVersion: "v1",
    kind: "Secret",
    metadata: rootSecret,
    data,
  });
}

interface Validator {
  readonly webhooks: readonly {
    readonly failurePolicy: string;
    readonly clientConfig: { readonly caBundle?: string };
  }[];
}

const virtualService = (name: string, weight: unknown, labels = { "istio.io/rev": "default" }): KubernetesObject =>
  ({
    metadata: { name, namespace: "shop", labels },
    spec: {
      hosts: ["cart"],
      http: [{ route: [{ destination: { host: "cart" }, weight }] }],
    },
  }) as KubernetesObject;

test.for(clusterKinds)(
  "an invalid object is refused with what to change, once the webhook was seen to refuse; also after the root was replaced: %s server",
  { timeout: 120_000 },
  async (kind, context) => {
    const { cluster, istiod, client } = await meshWithWebhooks(kind, context);
    const type = typeOf("VirtualService");
    const bundleOf = async (): Promise<string> => {
      const found = await cluster.read<Validator>("ValidatingWebhookConfiguration", "istio-validator-default");
      const [webhook] = found?.webhooks ?? [];
      return `${webhook?.failurePolicy} ${Buffer.from(webhook?.clientConfig.caBundle ?? "", "base64")
        .toString()
        .trim()}`;
    };
    // The webhook's configuration has no CA bundle yet, so it is ignored.
    await createObject(client, type, virtualService("before", -1));
    await cluster.create(validator("default"));
    const root = await rootOf(cluster);
    await vi.waitFor(async () => expect(await bundleOf()).toBe(`Fail ${root.certificate.trim()}`), until);

    const refusal =
      'admission webhook "rev.validation.istio.io" denied the request: configuration is invalid: VirtualService shop/cart: http[0].route[0].weight: is "most", expected an integer';
    await expect(createObject(client, type, virtualService("cart", "most"))).rejects.toThrow(refusal);
    await createObject(client, type, virtualService("valid", 100));
    const filter = {
      metadata: {
        name: "slow",
        namespace: "shop",
        labels: { "istio.io/rev": "default" },
      },
      spec: {
        configPatches: [
          {
            applyTo: "CLUSTER",
            patch: { operation: "MERGE", value: { connect_timeout: "10" } },
          },
        ],
      },
    };
    await expect(createObject(client, typeOf("EnvoyFilter"), filter as KubernetesObject)).rejects.toThrow(
      'EnvoyFilter shop/slow: configPatches[0].patch.value.connect_timeout: is "10", expected a duration such as 1.5s',
    );
    // Objects of other revisions are for the istiods of these.
    await createObject(client, type, virtualService("canary", "most", { "istio.io/rev": "canary" }));

    const next = await renewSelfSignedRoot(root, Date.now());
    await replaceRoot(cluster, next);
    await vi.waitFor(async () => expect(await bundleOf()).toBe(`Fail ${next.certificate.trim()}`), until);
    await vi.waitFor(
      () => expect(createObject(client, type, virtualService("cart", "most"))).rejects.toThrow(refusal),
      until,
    );
    const { types } = await scrape(istiod);
    expect(webhookSeries.map(({ name }) => `${name} ${types.get(name)}`)).toEqual(
      webhookSeries.map(({ name, type }) => `${name} ${type}`),
    );
    const metrics = await (await fetch(`${istiod.http}/metrics`)).text();
    expect(metrics).toMatch(/galley_validation_failed\{[^}]*resource="virtualservices",reason="invalid_resource"\} \d/);
    expect(istiod.lines.filter(({ msg }) => msg.startsWith("configuration is invalid: Gateway"))).toEqual([]);
  },
);

test("the webhooks answer while one address leaves 2,000 TLS handshakes half-open", async (context) => {
  if (process.platform !== "linux") return context.skip("only Linux has all of 127.0.0.0/8");
  const { cluster, istiod } = await meshWithWebhooks("in memory", context);
  const address = { host: "127.0.0.1", port: istiod.addresses["httpsAddr"]?.port ?? 0 };
  // The header of a record and of a ClientHello whose end is never sent.
  const begin = Buffer.from("16030102000100", "hex");
  const opened = Array.from({ length: 2000 }, () => {
    const socket = connect({ ...address, localAddress: "127.0.0.66" }).on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(begin);
    return once(socket, "connect");
  });
  await Promise.all(opened);
  const tls = { ca: (await rootOf(cluster)).certificate, servername: "istiod.istio-system.svc", agent: false };
  const call = request({ ...address, ...tls, path: "/validate", method: "POST" });
  call.setHeader("content-type", "application/json");
  call.end(
    JSON.stringify({
      kind: "AdmissionReview",
      apiVersion: "admission.k8s.io/v1",
      request: { uid: "1", operation: "CREATE", object: { apiVersion: "v1", kind: "Pod" } },
    }),
  );
  const [response] = (await once(call, "response")) as [IncomingMessage];
  expect(await json(response)).toMatchObject({ response: { uid: "1", allowed: false } });
});

test("without --httpsAddr, the webhooks answer on --httpAddr", async () => {
  const server = await startApiServer({
    types: istioTypes,
    namespaces: ["istio-system"],
    authorization: "allow-all",
  });
  onTestFinished(() => server.stop());
  const istiod = await serve({
    kubeconfig: join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig"),
  });
  const review = {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1beta1",
    request: {
      uid: "1",
      operation: "CREATE",
      object: { apiVersion: "v1", kind: "Pod" },
    },
  };
  for (const path of ["/validate", "/validate/further"]) {
    const answer = await fetch(`${istiod.http}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(review),
    });
    expect(await answer.json()).toMatchObject({
      apiVersion: "admission.k8s.io/v1beta1",
      response: { uid: "1", allowed: false },
    });
  }
  const ports = Array.from({ length: 20_001 }, (_, at) => at + 1);
  const large = { ...review, request: { ...review.request, object: { spec: { ports } } } };
  const refused = await fetch(`${istiod.http}/inject`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(large),
  });
  expect([refused.status, await refused.text()]).toEqual([413, "the body has more than 20000 values\n"]);
  expect((await fetch(`${istiod.http}/validated`)).status).toBe(404);
  expect((await fetch(`${istiod.http}/validate`)).status).toBe(405);
});

const injectorConfig = (image: string): string => `
policy: enabled
templates:
  sidecar: |
    spec:
      containers:
      - name: istio-proxy
        image: "{{ .Values.global.hub }}/${image}"
        env:
        - {name: MESH_ID, value: "{{ .MeshConfig.TrustDomain }}"}
`;
const configMap = (config: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "istio-sidecar-injector", namespace: "istio-system" },
  data: { config, values: '{"global": {"hub": "example.com"}}' },
});

test.for(clusterKinds)(
  "pods are injected by the templates of the ConfigMap, which is followed; an invalid edit keeps the last good one: %s server",
  { timeout: 120_000 },
  async (kind, context) => {
    const { cluster, istiod, client } = await meshWithWebhooks(kind, context);
    const name = "istio-sidecar-injector";
    await cluster.create({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name, labels: { "istio.io/rev": "default" } },
      webhooks: [
        {
          name: "rev.namespace.sidecar-injector.istio.io",
          clientConfig: {
            service: {
              name: "istiod",
              namespace: "istio-system",
              path: "/inject/cluster/c1/net/n1/proxy_path/a--slash--b",
            },
          },
          rules: [
            {
              operations: ["CREATE"],
              apiGroups: [""],
              apiVersions: ["v1"],
              resources: ["pods"],
            },
          ],
          failurePolicy: "Fail",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    });
    const pods = typeOf("Pod");
    const create = async (podName: string) => {
      const pod = {
        metadata: { name: podName, namespace: "shop" },
        spec: { containers: [{ name: "app", image: "app" }] },
      };
      const { spec } = (await createObject(client, pods, pod as KubernetesObject)) as unknown as typeof pod;
      return spec.containers as {
        readonly name: string;
        readonly image: string;
        readonly env?: readonly object[];
      }[];
    };
    await vi.waitFor(
      () =>
        expect(create("early")).rejects.toThrow(
          "injection is not configured: ConfigMap istio-system/istio-sidecar-injector, key config: does not exist",
        ),
      until,
    );

    await cluster.create(configMap(injectorConfig("proxyv2:1")));
    let containers: Awaited<ReturnType<typeof create>> = [];
    await vi.waitFor(async () => void (containers = await create("first")), until);
    expect(containers.map(({ name: container, image }) => `${container} ${image}`).toSorted()).toEqual([
      "app app",
      "istio-proxy example.com/proxyv2:1",
    ]);
    expect(containers.find(({ name: container }) => container === "istio-proxy")?.env).toEqual(
      expect.arrayContaining([
        { name: "MESH_ID", value: "cluster.local" },
        { name: "ISTIO_META_CLUSTER_ID", value: "c1" },
        { name: "ISTIO_META_NETWORK", value: "n1" },
        { name: "PROXY_PATH", value: "a/b" },
      ]),
    );
    const templates = async (): Promise<unknown> => (await fetch(`${istiod.http}/debug/inject`)).json();
    expect(await templates()).toEqual({
      sidecar: expect.stringContaining("proxyv2:1"),
    });

    await cluster.merge(configMap(injectorConfig("proxyv2:2")));
    await vi.waitFor(
      async () =>
        expect(await templates()).toEqual({
          sidecar: expect.stringContaining("proxyv2:2"),
        }),
      until,
    );
    await cluster.merge(configMap(injectorConfig("{{ if }}")));
    await vi.waitFor(
      () =>
        expect(istiod.lines.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/keeping the last good one/)),
      until,
    );
    expect((await create("second")).map(({ image }) => image)).toContain("example.com/proxyv2:2");
    const metrics = await (await fetch(`${istiod.http}/metrics`)).text();
    expect(metrics).toMatch(/^sidecar_injection_requests_total [2-9]/m);
    expect(metrics).toMatch(/^sidecar_injection_failure_total [1-9]/m);
  },
);
