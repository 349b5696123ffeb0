import { join } from "node:path";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { gatewayApiKinds, istioKinds } from "@istiod/config-schema";
import { type ApiServer, type ApiServerOptions, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { clusterType } from "@istiod/xds-server";
import { expect, onTestFinished, test, vi } from "vitest";
import { typesOf } from "@istiod/commands/testing";
import { client, decoded, folder, serve } from "./serving.js";

const until = { timeout: 60_000, interval: 50 };
type Istiod = Awaited<ReturnType<typeof serve>>;

const types = typesOf([...istioKinds, ...gatewayApiKinds]);
const service = (name: string, namespace = "shop"): ObjectInput => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace },
  spec: { ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 80 }], selector: { app: name } },
});
/** A rule with a subset of its own name. */
const rule = (name: string, metadata: object = {}): ObjectInput => ({
  apiVersion: "networking.istio.io/v1",
  kind: "DestinationRule",
  metadata: { name, namespace: "shop", ...metadata },
  spec: { host: "a", subsets: [{ name, labels: { version: name } }] },
});
const configMap = (data: Record<string, string>): ObjectInput => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "istio", namespace: "istio-system" },
  data,
});

async function cluster(options: ApiServerOptions = {}): Promise<ApiServer> {
  const namespaces = ["shop", "other", "istio-system"];
  const server = await startApiServer({ types, namespaces, bookmarkIntervalMs: 200, ...options });
  onTestFinished(() => server.stop());
  return server;
}

/** Istiod with a cluster's own mesh configuration. */
async function istiodOf(
  server: ApiServer,
  env: NodeJS.ProcessEnv = {},
  { token = server.tokens.admin, ...flags }: Parameters<typeof serve>[0] & { token?: string } = {},
): Promise<Istiod> {
  const text = server.kubeconfig.yaml.replace(server.tokens.admin, token);
  const kubeconfig = join(await folder({ kubeconfig: text }), "kubeconfig");
  return serve({ kubeconfig, meshConfig: "absent", networksConfig: "absent", ...flags }, env);
}

/** Returns the subsets and services that a proxy has clusters for, such as `canary|cart.shop`. */
async function names(istiod: Istiod): Promise<string[]> {
  const proxy = client(istiod, "delta", "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local");
  proxy.subscribe(clusterType);
  const clusters = decoded(ClusterSchema, await proxy.accept(clusterType));
  proxy.close();
  return clusters.flatMap(({ name }) => /^outbound\|80\|(.*)\.svc\.cluster\.local$/.exec(name)?.[1] ?? []).sort();
}

const become = (istiod: Istiod, ...expected: string[]): Promise<void> =>
  vi.waitFor(async () => expect(await names(istiod)).toEqual(expected.sort()), until);
const get = async ({ http }: Istiod, path: string): Promise<string> => (await fetch(`${http}${path}`)).text();
const mesh = async (istiod: Istiod): Promise<unknown> => JSON.parse(await get(istiod, "/debug/mesh"));
const logged = (istiod: Istiod, text: string): Promise<void> =>
  vi.waitFor(() => expect(istiod.lines.map(({ msg }) => msg).join("\n")).toContain(text), until);

test("namespaces are discovered as their labels and the discoverySelectors change", async () => {
  const server = await cluster();
  const label = (name: string, labels: Record<string, string>): Promise<unknown> =>
    server.objects.update({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
  const select = (selectors: string): Promise<unknown> =>
    server.objects.update(configMap({ mesh: `discoverySelectors: ${selectors}\n` }));
  await server.objects.create(configMap({ mesh: "discoverySelectors: [{matchLabels: {env: prod}}]\n" }));
  await label("shop", { env: "prod" });
  await server.objects.create(service("a", "shop"));
  await server.objects.create(service("b", "other"));
  const istiod = await istiodOf(server);
  await become(istiod, "|a.shop");
  await label("other", { env: "prod" });
  await become(istiod, "|a.shop", "|b.other");
  await label("shop", {});
  await become(istiod, "|b.other");
  await select("[{matchExpressions: [{key: env, operator: DoesNotExist}]}]");
  await become(istiod, "|a.shop");
  await select("[{matchLabels: {env: 7}}]");
  await logged(istiod, "discoverySelectors[0].matchLabels");
  expect(await names(istiod)).toEqual(["|a.shop"]);
  await select("[]");
  await become(istiod, "|a.shop", "|b.other");
}, 240_000);

test("a ConfigMap that is deleted, created again or not YAML never resets the mesh configuration", async () => {
  const server = await cluster();
  await server.objects.create(configMap({ mesh: "accessLogFile: /dev/a\n" }));
  const istiod = await istiodOf(server);
  await server.objects.delete({ apiVersion: "v1", kind: "ConfigMap", namespace: "istio-system", name: "istio" });
  await logged(istiod, "ConfigMap istio-system/istio, key mesh: does not exist; the last good version stays active");
  expect(await mesh(istiod)).toMatchObject({ accessLogFile: "/dev/a" });
  await server.objects.create(configMap({ mesh: "accessLogFile: /dev/b\n" }));
  await vi.waitFor(async () => expect(await mesh(istiod)).toMatchObject({ accessLogFile: "/dev/b" }), until);
  await server.objects.update(configMap({ mesh: "accessLogFile: [\n" }));
  await logged(istiod, "is not YAML");
  expect(await mesh(istiod)).toMatchObject({ accessLogFile: "/dev/b" });
  await server.objects.update(configMap({ mesh: "accessLogFile: /dev/c\n" }));
  await vi.waitFor(async () => expect(await mesh(istiod)).toMatchObject({ accessLogFile: "/dev/c" }), until);
}, 240_000);

test("an object is read while its label istio.io/rev is absent or names the revision, and not if it names a tag", async () => {
  const server = await cluster();
  await server.objects.create(service("a"));
  const labelled = (rev?: string): ObjectInput =>
    rule("r", { labels: rev === undefined ? {} : { "istio.io/rev": rev } });
  await server.objects.create(labelled("stable"));
  const istiod = await istiodOf(server, { REVISION: "canary" });
  await become(istiod, "|a.shop");
  await server.objects.update(labelled("canary"));
  await become(istiod, "|a.shop", "r|a.shop");
  await server.objects.update(labelled("prod"));
  await become(istiod, "|a.shop");
  await server.objects.update(labelled());
  await become(istiod, "|a.shop", "r|a.shop");
}, 240_000);

test("ISTIO_WATCH_NAMESPACE limits objects, and not the mesh configuration", async () => {
  const server = await cluster();
  await server.objects.create(service("a"));
  await server.objects.create(service("b", "other"));
  await server.objects.create(configMap({ mesh: "accessLogFile: /dev/a\n" }));
  const istiod = await istiodOf(server, { ISTIO_WATCH_NAMESPACE: "shop" });
  await become(istiod, "|a.shop");
  expect(await mesh(istiod)).toMatchObject({ accessLogFile: "/dev/a" });
  await server.objects.create(service("c"));
  await become(istiod, "|a.shop", "|c.shop");
}, 240_000);

test("custom resources of PILOT_IGNORE_RESOURCES are not read unless they are included, and the log names them", async () => {
  const server = await cluster();
  await server.objects.create(service("a"));
  await server.objects.create(rule("r"));
  const none = await istiodOf(server, { PILOT_IGNORE_RESOURCES: "destinationrules.networking.istio.io" });
  await become(none, "|a.shop");
  const excluded = "excluded by PILOT_IGNORE_RESOURCES and not read: destinationrules.networking.istio.io";
  expect(none.lines.filter(({ msg }) => msg === excluded)).toHaveLength(1);
  const PILOT_INCLUDE_RESOURCES = "destinationrules.networking.istio.io";
  await become(
    await istiodOf(server, { PILOT_IGNORE_RESOURCES: "*.istio.io", PILOT_INCLUDE_RESOURCES }),
    "|a.shop",
    "r|a.shop",
  );
}, 240_000);

test("configSources add to a cluster that they name, and replace the configuration of one that they do not name", async () => {
  const server = await cluster();
  await server.objects.create(service("a"));
  await server.objects.create(rule("cluster"));
  const directory = await folder({ "r.yaml": JSON.stringify(rule("file")), "c.yaml": JSON.stringify(rule("cluster")) });
  await server.objects.create(
    configMap({ mesh: `configSources: [{address: "k8s://"}, {address: "fs://${directory}"}]\n` }),
  );
  const both = await istiodOf(server);
  await become(both, "|a.shop", "cluster|a.shop", "file|a.shop");
  await logged(both, "c.yaml:1: DestinationRule shop/cluster: is also defined at cluster Kubernetes, which counts");
  expect(await get(both, "/ready?verbose")).toContain(`]Configuration (fs://${directory})`);
  await server.objects.update(configMap({ mesh: `configSources: [{address: "k8s://"}, {address: "k8s://other"}]\n` }));
  await logged(both, "configSources of the mesh configuration changed, restart istiod");
  await expect(istiodOf(server)).rejects.toThrow("configSources[1].address: k8s://other: names no cluster");
  await server.objects.update(configMap({ mesh: `configSources: [{address: "fs://${directory}"}]\n` }));
  await server.objects.update(rule("cluster", { annotations: { a: "b" } }));
  const files = await istiodOf(server);
  await server.objects.delete({ ...rule("cluster"), namespace: "shop", name: "cluster" });
  await become(files, "|a.shop", "cluster|a.shop", "file|a.shop");
}, 240_000);

test("edits of metadata that nothing reads affect no proxy", async () => {
  const server = await cluster();
  await server.objects.create(service("a"));
  await server.objects.create(rule("r"));
  const istiod = await istiodOf(server);
  const proxy = client(istiod, "delta", "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local");
  proxy.subscribe(clusterType);
  await proxy.accept(clusterType);
  const note = { annotations: { note: "a" } };
  await server.objects.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "a", namespace: "shop", ...note },
  });
  await server.objects.update(rule("r", { ...note, finalizers: ["example.com/a"] }));
  await server.objects.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", ...note } });
  // The proxy is sent only objects that are created from here on.
  await server.objects.create(service("b"));
  const { resources } = await proxy.accept(clusterType);
  expect(resources.map(({ name }) => name)).toEqual(["outbound|80||b.shop.svc.cluster.local"]);
}, 240_000);

test("a permission that is withdrawn leaves everything as it was, and each source that needs it is stale", async () => {
  const server = await cluster({ users: { "token-of-a-reader-1": { username: "reader" } } });
  const apiGroup = "rbac.authorization.k8s.io";
  const role = (resources: readonly string[]): ObjectInput => ({
    apiVersion: `${apiGroup}/v1`,
    kind: "ClusterRole",
    metadata: { name: "reader" },
    rules: [{ apiGroups: ["*"], resources, verbs: ["get", "list", "watch"] }],
  });
  await server.objects.create(role(["*"]));
  await server.objects.create({
    apiVersion: `${apiGroup}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: "reader" },
    roleRef: { apiGroup, kind: "ClusterRole", name: "reader" },
    subjects: [{ apiGroup, kind: "User", name: "reader" }],
  });
  await server.objects.create(service("a"));
  await server.objects.create(configMap({ mesh: "accessLogFile: /dev/a\n" }));
  const caDir = join(await folder({}), "ca");
  const istiod = await istiodOf(server, {}, { token: "token-of-a-reader-1", caDir });
  await server.objects.update(role(["services"]));
  await server.faults.dropConnections("end", { watch: true });
  const components = async (): Promise<string[]> => (await get(istiod, "/ready?verbose")).split("\n");
  for (const name of ["Mesh configuration", "Mesh networks", "Cluster Kubernetes"])
    await vi.waitFor(
      async () => expect((await components()).find((line) => line.includes(`]${name} `))).toMatch(/^\[-].*: stale/),
      until,
    );
  expect(await get(istiod, "/ready")).toContain("add these rules to a Role in namespace istio-system");
  expect(await names(istiod)).toEqual(["|a.shop"]);
  expect(await mesh(istiod)).toMatchObject({ accessLogFile: "/dev/a" });
  await server.objects.update(role(["*"]));
  await vi.waitFor(async () => expect(await get(istiod, "/ready")).toBe(""), { timeout: 120_000, interval: 100 });
}, 300_000);

test("objects of kinds that istiod does not read are reported once for each kind, from a cluster and from a directory", async () => {
  const route = (kind: string, apiVersion: string, name: string): ObjectInput => ({
    apiVersion,
    kind,
    metadata: { name, namespace: "shop" },
    spec: {},
  });
  const objects = [
    route("UDPRoute", "gateway.networking.k8s.io/v1", "a"),
    route("UDPRoute", "gateway.networking.k8s.io/v1", "b"),
    route("XListenerSet", "gateway.networking.x-k8s.io/v1alpha1", "c"),
  ];
  const server = await cluster();
  for (const object of objects) await server.objects.create(object);
  const directory = await folder({ "all.yaml": objects.map((object) => JSON.stringify(object)).join("\n---\n") });
  for (const istiod of [await istiodOf(server), await serve({ configDir: directory })]) {
    await logged(istiod, "XListenerSet has no effect");
    const lines = istiod.lines.map(({ msg }) => msg).filter((msg) => msg.includes("has no effect"));
    expect(lines.sort()).toEqual([
      "UDPRoute has no effect: Istio does not route UDP",
      "XListenerSet has no effect: it is superseded; write a ListenerSet",
    ]);
    expect(await get(istiod, "/debug/analyze")).toContain("XListenerSet has no effect");
  }
}, 240_000);

test("configSources that name a cluster need one", async () => {
  const root = await folder({ "mesh.yaml": 'configSources: [{address: "k8s://"}]', "objects/a.yaml": "" });
  await expect(serve({ configDir: join(root, "objects"), meshConfig: join(root, "mesh.yaml") })).rejects.toThrow(
    "configSources[0].address: k8s://: there is no cluster, expected --kubeconfig or an istiod in a cluster",
  );
});
