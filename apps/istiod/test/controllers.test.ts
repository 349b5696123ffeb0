import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { KubernetesObject } from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { istioTypes } from "@istiod/commands/testing";
import { accessTo, remoteSecret, serveCluster, until } from "./remote-mesh.js";
import { client, decoded, folder, serve } from "./serving.js";
import { clusterKinds, startTestCluster, type TestCluster } from "./test-clusters.js";

const listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener";

async function cluster(): Promise<ApiServer> {
  const server = await startApiServer({
    types: istioTypes,
    namespaces: ["shop", "istio-system"],
    bookmarkIntervalMs: 200,
  });
  onTestFinished(() => server.stop());
  return server;
}

const rootsIn = ({ objects }: ApiServer, namespace: string): string | undefined =>
  (
    objects.get({ apiVersion: "v1", kind: "ConfigMap", namespace, name: "istio-ca-root-cert" }) as
      | { readonly data?: Readonly<Record<string, string>> }
      | undefined
  )?.data?.["root-cert.pem"];

const locksOf = ({ objects }: ApiServer): Readonly<Record<string, string>> =>
  holders(objects.list({ apiVersion: "v1", kind: "ConfigMap", namespace: "istio-system" }));

/** Returns the holders of the locks among ConfigMaps, by the name of the lock. */
const holders = (maps: readonly KubernetesObject[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    maps.flatMap(({ metadata }) => {
      const record = metadata?.annotations?.["control-plane.alpha.kubernetes.io/leader"];
      return record === undefined
        ? []
        : [[metadata?.name, (JSON.parse(record) as { readonly holderIdentity: string }).holderIdentity] as const];
    }),
  );

const writesOf = ({ requests }: ApiServer, path: string): number =>
  requests.filter((request) => request.method !== "GET" && request.path.includes(path)).length;

const secure = { secureGRPCAddr: "127.0.0.1:0" };
const entry = (name: string) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "ServiceEntry",
  metadata: { namespace: "shop", name },
  spec: {
    hosts: [`${name}.example.com`],
    ports: [{ number: 9000, name: "tcp", protocol: "TCP" }],
    resolution: "DNS",
    location: "MESH_EXTERNAL",
  },
});

/** Returns the ConfigMap with the root certificates. */
const rootsOf = (server: TestCluster, namespace: string) =>
  server.read<KubernetesObject & { readonly data: Readonly<Record<string, string>> }>(
    "ConfigMap",
    "istio-ca-root-cert",
    namespace,
  );

async function holdersOf(server: TestCluster): Promise<Readonly<Record<string, string>>> {
  return holders(await server.list("ConfigMap", "istio-system"));
}

/** Starts an istiod that reads a server. */
async function istiodOf({ kubeconfig }: TestCluster, name: string, flags: Parameters<typeof serve>[0] = {}) {
  const file = join(await folder({ kubeconfig }), "kubeconfig");
  return serve({ kubeconfig: file, ...secure, ...flags }, { POD_NAME: name });
}

describe.each(clusterKinds)("with the %s API server", (kind) => {
  test("istiod writes the root certificates and allocates addresses, each under its lock, and proxies use them", async (context) => {
    const server = await startTestCluster(kind, context);
    await server.create(entry("db"));
    const istiod = await istiodOf(server, "istiod-0");
    await vi.waitFor(
      async () => expect((await rootsOf(server, "shop"))?.data["root-cert.pem"]).toContain("BEGIN CERTIFICATE"),
      until,
    );
    const node = create(NodeSchema, {
      id: "sidecar~10.9.0.1~web-0.shop~shop.svc.cluster.local",
      metadata: { NAMESPACE: "shop", DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true" },
    });
    const names = async (): Promise<readonly string[]> => {
      const proxy = client(istiod, "delta", node);
      proxy.subscribe(listenerType);
      return decoded(ListenerSchema, await proxy.accept(listenerType)).map(({ name }) => name);
    };
    await vi.waitFor(async () => expect(await names()).toContain("240.240.0.1_9000"), until);
    expect(await holdersOf(server)).toEqual({
      "istio-namespace-controller-election": "istiod-0",
      "istio-ip-autoallocate": "istiod-0",
      "istio-leader": "istiod-0",
    });
    await istiod.close();
    expect(new Set(Object.values(await holdersOf(server)))).toEqual(new Set([""]));
  }, 180_000);

  test("a second istiod writes nothing while the first leads, and takes over when it ends", async (context) => {
    const server = await startTestCluster(kind, context);
    const stores = { caDir: join(await folder({}), "ca") };
    const first = await istiodOf(server, "istiod-0", stores);
    await vi.waitFor(async () => expect(await rootsOf(server, "shop")).toBeDefined(), until);
    const version = async () => (await rootsOf(server, "shop"))?.metadata?.resourceVersion;
    const written = await version();
    await istiodOf(server, "istiod-1", stores);
    expect(await version()).toBe(written);
    await first.close();
    await server.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "later" } });
    await vi.waitFor(async () => expect(await rootsOf(server, "later")).toBeDefined(), until);
    expect((await holdersOf(server))["istio-namespace-controller-election"]).toBe("istiod-1");
    expect(await version()).toBe(written);
  }, 180_000);
});

const injectionWebhook = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingWebhookConfiguration",
  metadata: { name: "istio-sidecar-injector", labels: { "istio.io/rev": "default" } },
  webhooks: [
    {
      name: "rev.namespace.sidecar-injector.istio.io",
      clientConfig: { url: "https://istiod.example.com:15017/inject/cluster/named" },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    },
  ],
};

/** The CA bundle of the injection webhook, in PEM. */
const bundleIn = ({ objects }: ApiServer): string => {
  const { apiVersion, kind, metadata } = injectionWebhook;
  const { webhooks } = objects.get({ apiVersion, kind, name: metadata.name }) as unknown as {
    readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
  };
  return Buffer.from(webhooks[0]?.clientConfig.caBundle ?? "", "base64").toString();
};

test("remote clusters get the root certificates from an external istiod that their namespace names", async () => {
  const config = await cluster();
  const [named, other] = [await cluster(), await cluster()];
  const annotations = { "topology.istio.io/controlPlaneClusters": "east,Kubernetes" };
  for (const [server, metadata] of [
    [named, { name: "istio-system", annotations }],
    [other, { name: "istio-system", annotations: { "topology.istio.io/controlPlaneClusters": "east" } }],
  ] as const)
    await server.objects.apply({ apiVersion: "v1", kind: "Namespace", metadata });
  for (const server of [named, other]) await server.objects.create(injectionWebhook);
  await config.objects.create(remoteSecret("remotes", { named: accessTo(named), other: accessTo(other) }));
  const istiod = await serveCluster(config, secure, { EXTERNAL_ISTIOD: "true", POD_NAME: "istiod-0" });
  await vi.waitFor(() => expect(rootsIn(named, "shop")).toBe(rootsIn(config, "shop") ?? "not written yet"), until);
  const joins = (isLed: boolean, id: string) => `should join leader-election for cluster ${id}: ${isLed}`;
  await vi.waitFor(() => expect(istiod.lines.map(({ msg }) => msg)).toContain(joins(false, "other")), until);
  expect(locksOf(named)).toEqual({ "istio-namespace-controller-election": "istiod-0" });
  expect(writesOf(other, "configmaps")).toBe(0);
  await vi.waitFor(() => expect(bundleIn(named)).toBe(rootsIn(config, "shop")), until);
  expect(bundleIn(other)).toBe("");
  // The access is taken away: the lock is released.
  await config.objects.update(remoteSecret("remotes", { other: accessTo(other) }));
  await vi.waitFor(() => expect(locksOf(named)["istio-namespace-controller-election"]).toBe(""), until);
});

test("variables select the controllers", async () => {
  const server = await cluster();
  await server.objects.create(entry("db"));
  await serveCluster(server, secure, {
    POD_NAME: "istiod-0",
    PILOT_ENABLE_IP_AUTOALLOCATE: "false",
    PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS: "true",
    ENABLE_MCS_AUTO_EXPORT: "true",
    ENABLE_CLUSTER_TRUST_BUNDLE_API: "true",
  });
  await vi.waitFor(
    () =>
      expect(Object.keys(locksOf(server)).sort()).toEqual([
        "istio-leader",
        "istio-namespace-controller-election",
        "istio-node-untaint",
        "istio-serviceexport-controller-election",
      ]),
    until,
  );
  const bundle = { apiVersion: "certificates.k8s.io/v1beta1", kind: "ClusterTrustBundle" };
  await vi.waitFor(() => expect(server.objects.list(bundle)).toHaveLength(1), until);
  expect(rootsIn(server, "shop")).toBeUndefined();
});

test("without leader election, istiod writes no lock", async () => {
  const server = await cluster();
  await serveCluster(server, secure, { ENABLE_LEADER_ELECTION: "false", PILOT_CA_CERT_CONFIGMAP: "my-roots" });
  const named = { apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "my-roots" };
  await vi.waitFor(() => expect(server.objects.get(named)).toBeDefined(), until);
  expect(locksOf(server)).toEqual({});
});

test("PILOT_ENABLE_ANALYSIS=true writes findings to the status of objects, and removes them when they are resolved", async () => {
  const server = await cluster();
  const route = (weight: number, host: string) => ({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { namespace: "shop", name: "web" },
    spec: { hosts: ["web.example.com"], http: [{ route: [{ destination: { host }, weight }] }] },
  });
  const named = { apiVersion: "networking.istio.io/v1", kind: "VirtualService", namespace: "shop", name: "web" };
  const status = () => server.objects.get(named)?.["status"] as Readonly<Record<string, unknown>> | undefined;
  const codes = (): readonly unknown[] =>
    ((status()?.["validationMessages"] ?? []) as readonly { readonly type: { readonly code: string } }[]).map(
      ({ type }) => type.code,
    );
  await server.objects.create(entry("db"));
  await server.objects.create(route(100, "db.example.org"));
  const env = { POD_NAME: "istiod-0", PILOT_ENABLE_ANALYSIS: "true", PILOT_ANALYSIS_INTERVAL: "2s" };
  const first = await serveCluster(server, secure, env);
  await vi.waitFor(() => expect(codes()).toContain("IST0101"), until);
  expect(status()).toMatchObject({ observedGeneration: "1" });
  // A restart writes nothing.
  await first.close();
  const statusWrites = () => writesOf(server, "/virtualservices/web/status");
  const before = statusWrites();
  await serveCluster(server, secure, env);
  const { spec, ...envelope } = route(100, "db.example.org");
  const metadata = { namespace: "shop", name: "later" };
  const later = { ...envelope, metadata, spec: { ...spec, hosts: ["later.example.com"] } };
  await server.objects.create(later);
  const laterStatus = () => server.objects.get({ ...named, name: "later" })?.["status"];
  await vi.waitFor(() => expect(laterStatus()).toMatchObject({ observedGeneration: "1" }), until);
  expect(statusWrites()).toBe(before);
  // A rejected version has the message of its rejection, of its own generation.
  await server.objects.update(route(-1, "db.example.com"));
  await vi.waitFor(
    () => expect([status()?.["observedGeneration"], codes().includes("IST0106")]).toEqual(["2", true]),
    until,
  );
  // A resolved finding is removed.
  await server.objects.update(route(100, "db.example.com"));
  await vi.waitFor(
    () => expect([codes(), status()?.["observedGeneration"]]).toEqual([expect.not.arrayContaining(["IST0101"]), "3"]),
    until,
  );
}, 240_000);

test("by default, findings are not written", async () => {
  const server = await cluster();
  await serveCluster(server, secure, { POD_NAME: "istiod-0" });
  await vi.waitFor(() => expect(locksOf(server)["istio-ip-autoallocate"]).toBe("istiod-0"), until);
  expect(Object.keys(locksOf(server))).not.toContain("istio-analyze-leader");
});
