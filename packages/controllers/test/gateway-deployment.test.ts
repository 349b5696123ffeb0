import { gatewayDeploymentController, type ManagedGatewaySettings } from "@istiod/controllers";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import { expect, it } from "vitest";
import { eventually, meshSettings, testCluster, type TestCluster } from "./support/cluster.js";
import { chartInjection, constant, defaultSettings } from "./support/managed-gateways.js";

const group = "gateway.networking.k8s.io";
const types: readonly ResourceType[] = [
  { group, version: "v1", kind: "Gateway", plural: "gateways", namespaced: true },
  { group, version: "v1", kind: "GatewayClass", plural: "gatewayclasses", namespaced: false },
  { group, version: "v1", kind: "ListenerSet", plural: "listenersets", namespaced: true },
];

const http = { name: "http", port: 80, protocol: "HTTP" };

interface Fields {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

const gateway = ({ spec, ...metadata }: Fields = {}) => ({
  apiVersion: `${group}/v1`,
  kind: "Gateway",
  metadata: { namespace: "shop", name: "edge", ...metadata },
  spec: { gatewayClassName: "istio", listeners: [http], ...spec },
});

const listenerSet = (namespace: string, listeners: readonly object[]) => ({
  apiVersion: `${group}/v1`,
  kind: "ListenerSet",
  metadata: { namespace, name: "more" },
  spec: { parentRef: { namespace: "shop", name: "edge" }, listeners },
});

const configMap = (namespace: string, name: string, data: object, labels = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace, name, labels },
  data,
});

const parameters = { infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "options" } } };

async function start(settings: Partial<ManagedGatewaySettings> = {}) {
  const cluster = await testCluster({ namespaces: ["shop", "bank", "istio-system"], types });
  const run = () =>
    cluster.run(
      gatewayDeploymentController({
        mesh: meshSettings({ rootNamespace: "istio-system" }),
        systemNamespace: "istio-system",
        settings: { ...defaultSettings, ...settings },
        sources: {
          injection: constant(chartInjection()),
          proxyConfigs: constant([]),
          kubeVersion: constant({ number: 128 }),
        },
      }),
    );
  return { cluster, objects: cluster.server.objects, run };
}

const apiVersions = {
  Deployment: "apps/v1",
  Service: "v1",
  ServiceAccount: "v1",
  HorizontalPodAutoscaler: "autoscaling/v2",
  PodDisruptionBudget: "policy/v1",
} as const;

function found({ server }: TestCluster, kind: keyof typeof apiVersions, name = "edge-istio") {
  return server.objects.get({ apiVersion: apiVersions[kind], kind, namespace: "shop", name }) as
    | (KubernetesObject & { readonly spec: Record<string, unknown> })
    | undefined;
}

function portsOf(cluster: TestCluster, name?: string): readonly string[] | undefined {
  const ports = found(cluster, "Service", name)?.spec["ports"] as { name: string; port: number }[] | undefined;
  return ports?.map((port) => `${port.name} ${port.port}`);
}

/** Waits until a Gateway that needs nothing special has its last object, which comes after those of older ones. */
async function marked({ objects, cluster }: Awaited<ReturnType<typeof start>>): Promise<void> {
  await objects.create(gateway({ name: "marker" }));
  await eventually(() => expect(portsOf(cluster, "marker-istio")).toBeDefined());
}

const writesOf = (cluster: TestCluster, word: string): readonly string[] =>
  cluster.writes().filter((line) => line.includes(word));

it("a Gateway gets a ServiceAccount, a Deployment and a Service, and a restart does not write them again", async () => {
  const test = await start();
  const { cluster, objects, run } = test;
  const { metadata } = await objects.create(gateway());
  const first = run();
  await eventually(() => expect(portsOf(cluster)).toEqual(["status-port 15021", "http 80"]));
  expect(cluster.writes()).toEqual([
    `PATCH /apis/${group}/v1/namespaces/shop/gateways/edge/status`,
    "PATCH /api/v1/namespaces/shop/serviceaccounts/edge-istio",
    "PATCH /apis/apps/v1/namespaces/shop/deployments/edge-istio",
    "PATCH /api/v1/namespaces/shop/services/edge-istio",
  ]);
  for (const kind of ["ServiceAccount", "Deployment", "Service"] as const)
    expect(found(cluster, kind)?.metadata).toMatchObject({
      labels: { "gateway.istio.io/managed": "istio.io-gateway-controller", [`${group}/gateway-name`]: "edge" },
      ownerReferences: [{ kind: "Gateway", name: "edge", uid: metadata.uid }],
    });
  first.stop();
  const before = writesOf(cluster, "edge-istio").length;
  run();
  await marked(test);
  expect(writesOf(cluster, "edge-istio")).toHaveLength(before);
});

it("changes of a Gateway change its objects, edits by others are undone, and fields of others stay", async () => {
  const { cluster, objects, run } = await start();
  await objects.create(gateway());
  run();
  await eventually(() => expect(portsOf(cluster)).toEqual(["status-port 15021", "http 80"]));
  await objects.apply({ ...gateway(), spec: { listeners: [{ name: "tls", port: 443, protocol: "TLS" }] } });
  await eventually(() => expect(portsOf(cluster)).toEqual(["status-port 15021", "tls 443"]));
  const service = { apiVersion: "v1", kind: "Service", metadata: { namespace: "shop", name: "edge-istio" } };
  await objects.apply({
    ...service,
    metadata: { ...service.metadata, annotations: { "cloud.example.com/id": "1" } },
    spec: { type: "ClusterIP" },
  });
  await eventually(() => expect(found(cluster, "Service")?.spec["type"]).toBe("LoadBalancer"));
  expect(found(cluster, "Service")?.metadata?.annotations).toEqual({ "cloud.example.com/id": "1" });
});

it("objects of users with the names of a Gateway's are left alone", async () => {
  const { cluster, objects, run } = await start();
  const ports = [{ name: "own", port: 1234 }];
  await objects.create({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "shop", name: "edge-istio" },
    spec: { ports },
  });
  await objects.create(gateway());
  run();
  await eventually(() => expect(found(cluster, "Deployment")).toBeDefined());
  expect(portsOf(cluster)).toEqual(["own 1234"]);
  expect(writesOf(cluster, "services/edge-istio")).toEqual([]);
});

it("Gateways of other classes, revisions, controllers and with addresses of their own are left alone", async () => {
  const test = await start({ revision: "canary" });
  const { cluster, objects, run } = test;
  const canary = { "istio.io/rev": "canary" };
  await objects.create({
    apiVersion: `${group}/v1`,
    kind: "GatewayClass",
    metadata: { name: "foreign" },
    spec: { controllerName: "example.com/controller" },
  });
  await objects.create({
    apiVersion: `${group}/v1`,
    kind: "GatewayClass",
    metadata: { name: "custom" },
    spec: { controllerName: "istio.io/gateway-controller" },
  });
  await objects.create(gateway({ name: "foreign", labels: canary, spec: { gatewayClassName: "foreign" } }));
  await objects.create(gateway({ name: "remote", labels: canary, spec: { gatewayClassName: "istio-remote" } }));
  await objects.create(gateway({ name: "waypoint", labels: canary, spec: { gatewayClassName: "istio-waypoint" } }));
  await objects.create(gateway({ name: "stable", labels: { "istio.io/rev": "stable" } }));
  const newer = { "gateway.istio.io/controller-version": "6" };
  await objects.create(gateway({ name: "newer", labels: canary, annotations: newer }));
  const hostname = { addresses: [{ type: "Hostname", value: "ingress.istio-system.svc.cluster.local" }] };
  await objects.create(gateway({ name: "manual", labels: canary, spec: hostname }));
  const older = { "gateway.istio.io/controller-version": "1" };
  await objects.create(gateway({ name: "older", labels: canary, annotations: older }));
  await objects.create(gateway({ name: "own", labels: canary, spec: { gatewayClassName: "custom" } }));
  run();
  await eventually(() => expect(portsOf(cluster, "own-custom")).toBeDefined());
  await eventually(() => expect(portsOf(cluster, "older-istio")).toBeDefined());
  expect(writesOf(cluster, "/services/")).toHaveLength(2);
});

it("ConfigMaps customize objects: those of the class first, then those of the Gateway", async () => {
  const { cluster, objects, run } = await start();
  const ofClass = { "gateway.istio.io/defaults-for-class": "istio" };
  const defaults = {
    deployment: "spec: {replicas: 2, minReadySeconds: 7}",
    podDisruptionBudget: "spec: {minAvailable: 1}",
  };
  await objects.create(configMap("istio-system", "defaults", defaults, ofClass));
  await objects.create(configMap("bank", "not-of-the-system", { service: "spec: {type: NodePort}" }, ofClass));
  const own = {
    deployment:
      "spec: {replicas: 3, template: {spec: {containers: [{name: istio-proxy, resources: {requests: {cpu: 1000m}}}]}}}",
    horizontalPodAutoscaler: "spec: {minReplicas: 3, maxReplicas: 5}",
  };
  await objects.create(configMap("shop", "options", own));
  await objects.create(gateway({ spec: parameters }));
  const first = run();
  await eventually(() => expect(found(cluster, "PodDisruptionBudget")).toBeDefined());
  expect(found(cluster, "PodDisruptionBudget")?.spec).toMatchObject({ minAvailable: 1 });
  expect(found(cluster, "HorizontalPodAutoscaler")?.spec).toMatchObject({ minReplicas: 3, maxReplicas: 5 });
  expect(found(cluster, "Deployment")?.spec).toMatchObject({ replicas: 3, minReadySeconds: 7 });
  expect(found(cluster, "Service")?.spec["type"]).toBe("LoadBalancer");
  await objects.apply(configMap("shop", "options", { service: "spec: {type: ClusterIP}" }));
  await eventually(() => expect(found(cluster, "Service")?.spec["type"]).toBe("ClusterIP"));
  first.stop();
});

it.for([
  ["metadata.name", "deployment", "metadata: {name: other}"],
  ["metadata.namespace", "service", "metadata: {namespace: istio-system}"],
  ["metadata.ownerReferences", "serviceAccount", "metadata: {ownerReferences: null}"],
  ["kind", "deployment", "kind: DaemonSet"],
  ['data["role"]', "role", "rules: []"],
  ["line 1", "deployment", "spec: {"],
  ["$patch", "service", "spec: {selector: {}, ports: [{$patch: other}]}"],
] as const)("a customization of %s is rejected with the ConfigMap and the field", async ([message, key, patch], _) => {
  const test = await start();
  const { cluster, objects, run } = test;
  await objects.create(configMap("shop", "options", { [key]: patch }));
  await objects.create(gateway({ spec: parameters }));
  run();
  await marked(test);
  expect(writesOf(cluster, "edge-istio")).toEqual([]);
  const lines = cluster.log.lines.filter((line) => line.startsWith("error"));
  expect(lines).toEqual([expect.stringContaining(`ConfigMap shop/options: `)]);
  expect(lines[0]).toContain(message);
});

it("a value that would change the structure of the template's output is rejected", async () => {
  const test = await start();
  const { cluster, objects, run } = test;
  const image = 'debug", "securityContext": {"privileged": true}, "x": "';
  await objects.create(gateway({ annotations: { "sidecar.istio.io/proxyImageType": image } }));
  await objects.create(gateway({ name: "quoted", annotations: { "sidecar.istio.io/logLevel": image } }));
  run();
  await marked(test);
  await eventually(() => expect(found(cluster, "Deployment", "quoted-istio")).toBeDefined());
});

it("a Deployment of an older control plane keeps its selector", async () => {
  const { cluster, objects, run } = await start();
  const labels = { "istio.io/gateway-name": "edge", [`${group}/gateway-name`]: "edge" };
  await objects.create({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "shop", name: "edge-istio", labels: { "gateway.istio.io/managed": "istio.io-gateway" } },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "istio-proxy", image: "old" }] } },
    },
  });
  await objects.create(gateway());
  run();
  await eventually(() =>
    expect(found(cluster, "Deployment")?.metadata?.labels?.["gateway.istio.io/managed"]).toBe(
      "istio.io-gateway-controller",
    ),
  );
  expect(found(cluster, "Deployment")?.spec).toMatchObject({
    selector: { matchLabels: labels },
    template: { metadata: { labels } },
  });
});

it("the Service has the ports of accepted ListenerSets, each once and with a name of its own", async () => {
  const { cluster, objects, run } = await start({ hasQuic: true });
  const allowedListeners = { namespaces: { from: "Selector", selector: { matchLabels: { listens: "yes" } } } };
  await objects.create(gateway({ spec: { allowedListeners } }));
  await objects.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "bank", labels: { listens: "yes" } } });
  await objects.create(listenerSet("istio-system", [{ name: "not-accepted", port: 81, protocol: "HTTP" }]));
  await objects.create(
    listenerSet("bank", [
      { name: "again", port: 80, protocol: "HTTP" },
      { name: "a.b", port: 8080, protocol: "HTTP" },
      { name: "a-b", port: 8081, protocol: "TCP" },
      { name: "default", protocol: "HTTPS" },
    ]),
  );
  run();
  await eventually(() =>
    expect(portsOf(cluster)).toEqual([
      "status-port 15021",
      "http 80",
      "a-b 8080",
      "a-b-8081 8081",
      "default 443",
      "default-quic 443",
    ]),
  );
});

it("an IP address is requested of the load balancer, and annotations name the objects and the Service's type", async () => {
  const { cluster, objects, run } = await start();
  await objects.create(gateway({ spec: { addresses: [{ type: "IPAddress", value: "192.0.2.1" }] } }));
  const annotations = {
    "gateway.istio.io/name-override": "renamed",
    "gateway.istio.io/service-account": "account",
    "networking.istio.io/service-type": "ClusterIP",
  };
  await objects.create(gateway({ name: "named", annotations }));
  run();
  await eventually(() => expect(found(cluster, "Service")?.spec["loadBalancerIP"]).toBe("192.0.2.1"));
  await eventually(() => expect(found(cluster, "Service", "renamed")?.spec["type"]).toBe("ClusterIP"));
  expect(found(cluster, "ServiceAccount", "account")).toBeDefined();
  expect(found(cluster, "Deployment", "renamed")?.spec).toMatchObject({
    template: { spec: { serviceAccountName: "account" } },
  });
});
