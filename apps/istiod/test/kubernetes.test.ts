import { existsSync } from "node:fs";
import { join } from "node:path";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { type ApiServer, type ApiServerOptions, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { clusterType, listenerType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { accountToken } from "./account-token.js";
import { istioTypes } from "@istiod/commands/testing";
import { client, decoded, folder, serve } from "./serving.js";

const until = { timeout: 20_000, interval: 20 };
const nodeId = "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local";
const service = (name: string, port = 80): ObjectInput => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "shop" },
  spec: { ports: [{ name: "http", port, protocol: "TCP", targetPort: port }], selector: { app: name } },
});
const virtualService = (host: string): ObjectInput => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "cart", namespace: "shop" },
  spec: { hosts: ["cart"], http: [{ route: [{ destination: { host } }] }] },
});
const ingress = (name: string): ObjectInput => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name, namespace: "shop", annotations: { "kubernetes.io/ingress.class": "istio" } },
  spec: { defaultBackend: { service: { name: "cart", port: { number: 80 } } } },
});
const configMap = (name: string, data: Record<string, string>): ObjectInput => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "istio-system" },
  data,
});

async function cluster(options: ApiServerOptions = {}) {
  const server = await startApiServer({
    types: istioTypes,
    namespaces: ["shop", "istio-system"],
    bookmarkIntervalMs: 200,
    ...options,
  });
  onTestFinished(() => server.stop());
  return server;
}

async function kubeconfigOf(server: ApiServer, token = server.tokens.admin): Promise<string> {
  const text = server.kubeconfig.yaml.replace(server.tokens.admin, token);
  return join(await folder({ kubeconfig: text }), "kubeconfig");
}

async function names(istiod: Awaited<ReturnType<typeof serve>>): Promise<string[]> {
  const proxy = client(istiod, "delta", nodeId);
  proxy.subscribe(clusterType);
  const clusters = decoded(ClusterSchema, await proxy.accept(clusterType));
  return clusters.map(({ name }) => name).filter((name) => name.startsWith("outbound|"));
}

const ready = async (istiod: { readonly http: string }): Promise<string> =>
  (await fetch(`${istiod.http}/ready`)).text();

test("istiod serves the objects of a cluster, and follows their edits", async () => {
  const server = await cluster();
  await server.objects.create(service("cart"));
  await server.objects.create(virtualService("cart"));
  const istiod = await serve({ kubeconfig: await kubeconfigOf(server) });
  expect(await names(istiod)).toEqual(["outbound|80||cart.shop.svc.cluster.local"]);
  const configz = await (await fetch(`${istiod.http}/debug/configz`)).text();
  expect(configz).toContain('"VirtualService"');

  const proxy = client(istiod, "delta", nodeId);
  proxy.subscribe(clusterType);
  await proxy.accept(clusterType);
  await server.objects.create(service("orders", 8080));
  const pushed = decoded(ClusterSchema, await proxy.accept(clusterType));
  expect(pushed.map(({ name }) => name)).toEqual(["outbound|8080||orders.shop.svc.cluster.local"]);
  await server.objects.delete({ apiVersion: "v1", kind: "Service", namespace: "shop", name: "orders" });
  expect((await proxy.accept(clusterType)).removed).toEqual(["outbound|8080||orders.shop.svc.cluster.local"]);
});

test("the mesh configuration is that of ConfigMaps, which are followed; a shared one applies first", async () => {
  const server = await cluster();
  await server.objects.create(
    configMap("istio-canary", { mesh: "trustDomain: own.example\n", meshNetworks: "networks: {north: {}}\n" }),
  );
  await server.objects.create(configMap("shared", { mesh: "trustDomain: shared.example\naccessLogFile: /dev/a\n" }));
  const istiod = await serve(
    { kubeconfig: await kubeconfigOf(server), meshConfig: "no-such-file" },
    { REVISION: "canary", SHARED_MESH_CONFIG: "shared" },
  );
  const mesh = async (): Promise<unknown> => (await fetch(`${istiod.http}/debug/mesh`)).json();
  expect(await mesh()).toMatchObject({ trustDomain: "own.example", accessLogFile: "/dev/a" });
  await server.objects.apply(configMap("shared", { mesh: "accessLogFile: /dev/b\n" }));
  await vi.waitFor(async () => expect(await mesh()).toMatchObject({ accessLogFile: "/dev/b" }), until);
});

test("an outage of the API server costs freshness and nothing else", async () => {
  const server = await cluster();
  await server.objects.create(service("cart"));
  const istiod = await serve({ kubeconfig: await kubeconfigOf(server) });
  await server.faults.failRequests({ status: 503, times: 1_000_000 });
  await server.faults.dropConnections("reset", {});
  const sources = ["ConfigMap istio-system/istio, key mesh", "Cluster Kubernetes", "Remote clusters"];
  await vi.waitFor(async () => {
    const reported = await ready(istiod);
    for (const source of sources) expect(reported).toContain(`source ${source}: stale since `);
  }, until);
  expect(await names(istiod)).toEqual(["outbound|80||cart.shop.svc.cluster.local"]);
  const clusterz = await (await fetch(`${istiod.http}/debug/clusterz`)).json();
  expect(clusterz).toMatchObject([{ id: "Kubernetes", syncStatus: "stale" }]);
  await server.objects.create(service("orders", 8080));
  await server.faults.clear();
  await vi.waitFor(async () => expect(await ready(istiod)).toBe(""), { timeout: 60_000, interval: 50 });
  await vi.waitFor(async () => expect(await names(istiod)).toHaveLength(2), until);
}, 120_000);

test("a policy that is rejected when istiod starts closes what it selects", async () => {
  const server = await cluster();
  await server.objects.create({
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: { name: "deny", namespace: "shop" },
    spec: { selector: { matchLabels: { app: "cart" } }, action: "DENYY", rules: [{}] },
  });
  const istiod = await serve({ kubeconfig: await kubeconfigOf(server) });
  expect(await ready(istiod)).toBe("rejected policies: 1 fail closed, 0 keep their last good version\n");
});

test("without permission to read a kind, startup ends with the rule to add", async () => {
  const reader = (rules: readonly object[]): ObjectInput => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "reader" },
    rules,
  });
  const server = await cluster({ users: { "token-of-a-reader-1": { username: "reader" } } });
  await server.objects.create(
    reader([{ apiGroups: [""], resources: ["configmaps", "namespaces", "secrets"], verbs: ["get", "list", "watch"] }]),
  );
  await server.objects.create({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "reader" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader" }],
  });
  await expect(serve({ kubeconfig: await kubeconfigOf(server, "token-of-a-reader-1") })).rejects.toThrow(
    /services in the cluster is forbidden[\s\S]*- apiGroups: \[""\]\n {2}resources: \[[^\]]*"services"[^\]]*\]\n {2}verbs: \["get","list","watch"\]/,
  );
}, 60_000);

test("callers are authenticated by the cluster, and the root is kept in a Secret", async () => {
  const server = await cluster();
  await server.objects.create(service("cart"));
  await server.objects.create({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "web", namespace: "shop" },
  });
  const kubeconfig = await kubeconfigOf(server);
  const istiod = await serve({ kubeconfig, secureGRPCAddr: "127.0.0.1:0" });
  const secret = server.objects.get({
    apiVersion: "v1",
    kind: "Secret",
    namespace: "istio-system",
    name: "istio-ca-secret",
  });
  expect(Object.keys(secret?.["data"] ?? {})).toEqual(expect.arrayContaining(["ca-cert.pem", "ca-key.pem"]));

  const tokenOf = (audience: string): Promise<string> =>
    accountToken(server, { namespace: "shop", name: "web", audience });
  const open = (token: string): XdsClient => {
    const proxy = new XdsClient(
      {
        host: "127.0.0.1",
        port: istiod.addresses["secureGRPCAddr"]?.port ?? 0,
        tls: { rejectUnauthorized: false },
      },
      {
        variant: "delta",
        node: create(NodeSchema, { id: nodeId, metadata: { NAMESPACE: "shop", SERVICE_ACCOUNT: "web" } }),
        headers: { authorization: `Bearer ${token}` },
      },
    );
    onTestFinished(() => proxy.close());
    return proxy;
  };
  const accepted = open(await tokenOf("istio-ca"));
  accepted.subscribe(clusterType);
  expect((await accepted.accept(clusterType)).resources.length).toBeGreaterThan(0);
  const rejected = open(await tokenOf("another"));
  rejected.subscribe(clusterType);
  expect(await rejected.ended).toMatchObject({ rawMessage: "authentication failure" });
});

test("without --secureGRPCAddr, istiod issues no certificates, and writes no root to the cluster", async () => {
  const server = await cluster({ namespaces: ["shop"] });
  await server.objects.create(service("cart"));
  const istiod = await serve({ kubeconfig: await kubeconfigOf(server), secureGRPCAddr: "" });
  expect(await names(istiod)).toEqual(["outbound|80||cart.shop.svc.cluster.local"]);
  const written = server.objects.list({ apiVersion: "v1", kind: "Secret" });
  expect(written).toEqual([]);
});

test("without the namespace of the root, startup ends with its name and the command that creates it", async () => {
  const server = await cluster({ namespaces: ["shop"] });
  await expect(serve({ kubeconfig: await kubeconfigOf(server), secureGRPCAddr: "127.0.0.1:0" })).rejects.toThrow(
    "Secret istio-system/istio-ca-secret cannot be created: namespace istio-system does not exist; " +
      "create it: kubectl create namespace istio-system",
  );
});

test("a directory beside a cluster holds Istio's configuration, and the cluster the services and Ingresses", async () => {
  const server = await cluster();
  await server.objects.create(ingress("front"));
  await server.objects.create(service("cart"));
  await server.objects.create(virtualService("elsewhere"));
  const root = await folder({ "a.yaml": JSON.stringify(virtualService("cart")) });
  const istiod = await serve({ kubeconfig: await kubeconfigOf(server), configDir: root });
  expect(await names(istiod)).toEqual(["outbound|80||cart.shop.svc.cluster.local"]);
  const configz = await (await fetch(`${istiod.http}/debug/configz`)).text();
  expect(configz).not.toContain("elsewhere");
  const node = create(NodeSchema, {
    id: "router~10.0.0.8~gateway.istio-system~istio-system.svc.cluster.local",
    metadata: { NAMESPACE: "istio-system", LABELS: { istio: "ingressgateway" } },
  });
  const gateway = client(istiod, "delta", node);
  gateway.subscribe(listenerType);
  const listeners = decoded(ListenerSchema, await gateway.accept(listenerType));
  expect(listeners.map(({ name }) => name)).toEqual(["0.0.0.0_80"]);
});

test.each([
  [{ kubeconfig: "no-such-file" }, "kubeconfig no-such-file: ENOENT"],
  [{ registries: ["Consul"] }, "--registries Consul: is not supported, expected Kubernetes"],
  [{ registries: [], kubeconfig: "x" }, "--kubeconfig: has no effect, because --registries does not name Kubernetes"],
  [{ kubeconfig: "x", kubernetesApiQPS: 0 }, "--kubernetesApiQPS 0: expected a number above 0"],
  [{ kubeconfig: "x", kubernetesApiBurst: 0 }, "--kubernetesApiBurst 0: expected at least 1"],
  [{}, "there is nothing to read: give --configDir for a directory or --kubeconfig for a cluster"],
])("flags that cannot be used are an error: %j", async (flags, message) => {
  await expect(serve(flags)).rejects.toThrow(message);
});

test("a Pod without the token of its service account is an error, unless no cluster is to be read", async (context) => {
  context.skip(
    existsSync("/var/run/secrets/kubernetes.io/serviceaccount/token"),
    "this machine is a Pod with a service account",
  );
  const configDir = await folder({ "a.yaml": JSON.stringify(service("cart")) });
  const env = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" };
  await expect(serve({ configDir }, env)).rejects.toThrow(
    /^the cluster that istiod runs in: ENOENT.*serviceaccount\/token'; mount the token .*--registries "" to read no cluster$/,
  );
  const istiod = await serve({ configDir, registries: [] }, env);
  expect(await names(istiod)).toEqual(["outbound|80||cart.shop.svc.cluster.local"]);
});
