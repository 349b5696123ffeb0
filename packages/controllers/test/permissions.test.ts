import {
  analysisKey,
  analysisStatusController,
  analyzedTypes,
  clusterTrustBundleController,
  type Controller,
  gatewayClassController,
  gatewayDeploymentController,
  gatewayDeploymentLock,
  gatewayStatusController,
  gatewayStatusLock,
  inferencePoolController,
  inferencePoolLock,
  ingressStatusController,
  injectionWebhookController,
  ipAllocationController,
  type Lock,
  locks,
  namespaceController,
  nodeUntaintController,
  parsePrefix,
  type ProbeResult,
  probeValidation,
  permissions,
  type Permissions,
  type PolicyRule,
  runController,
  runElected,
  serviceExportController,
  validationWebhookController,
  WorkloadRegistration,
} from "@istiod/controllers";
import { type ObjectStatus, statusKinds } from "@istiod/gateway-api";
import { MeshConfig_IngressControllerMode as Mode } from "@istiod/istio-api/mesh/v1alpha1/config";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import type { ObjectInput } from "@istiod/kubernetes/testing";
import { expect, it, onTestFinished } from "vitest";
import { chartInjection, constant, defaultSettings } from "./support/managed-gateways.js";
import { Changeable, eventually, meshSettings, RecordedLog, testCluster } from "./support/cluster.js";

const mesh = meshSettings({ ingressControllerMode: Mode.DEFAULT, ingressService: "gateway" });
const roots = new Changeable("root 1");
const gatewayGroup = "gateway.networking.k8s.io";
const gatewayTypes = [
  { kind: "GatewayClass", plural: "gatewayclasses", namespaced: false },
  { kind: "Gateway", plural: "gateways", namespaced: true },
  { kind: "ListenerSet", plural: "listenersets", namespaced: true },
  { kind: "HTTPRoute", plural: "httproutes", namespaced: true },
].map((type) => ({ group: gatewayGroup, version: "v1", ...type }));
const custom = [
  ...analyzedTypes,
  ...gatewayTypes,
  {
    group: "inference.networking.k8s.io",
    version: "v1",
    kind: "InferencePool",
    plural: "inferencepools",
    namespaced: true,
  },
  {
    group: "multicluster.x-k8s.io",
    version: "v1alpha1",
    kind: "ServiceExport",
    plural: "serviceexports",
    namespaced: true,
  },
];
const objects: readonly ObjectInput[] = [
  {
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { namespace: "shop", name: "db" },
    spec: { hosts: ["db.example.com"], resolution: "DNS" },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "istio-system", name: "gateway" },
    spec: { ports: [{ port: 80 }], externalIPs: ["192.0.2.1"] },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { namespace: "shop", name: "web", labels: { "istio.io/rev": "default" } },
    spec: { rules: [] },
  },
  {
    apiVersion: `${gatewayGroup}/v1`,
    kind: "Gateway",
    metadata: { namespace: "shop", name: "edge", generation: 1 },
    spec: { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
  },
  {
    apiVersion: "inference.networking.k8s.io/v1",
    kind: "InferencePool",
    metadata: { namespace: "shop", name: "model" },
    spec: { targetPorts: [{ number: 8000 }] },
  },
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1" },
    spec: { taints: [{ key: "cni.istio.io/not-ready", effect: "NoSchedule" }] },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "istio-system", name: "cni", labels: { "k8s-app": "istio-cni-node" } },
    spec: { nodeName: "n1", containers: [{ name: "cni", image: "cni" }] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  },
];

const group = "networking.istio.io";
const analyzed = new Map([
  [
    analysisKey({ group, kind: "ServiceEntry", namespace: "shop", name: "db" }),
    {
      generation: 1,
      messages: [{ code: "IST0134", name: "ServiceEntryAddressesRequired", level: "WARNING" as const }],
    },
  ],
]);

const gatewayDeployments = gatewayDeploymentController({
  mesh,
  systemNamespace: "istio-system",
  settings: defaultSettings,
  sources: {
    injection: constant(chartInjection()),
    proxyConfigs: constant([]),
    kubeVersion: constant({ number: 128 }),
  },
});
const gatewayStatuses = gatewayStatusController({
  mesh,
  revision: "default",
  systemNamespace: "istio-system",
  controllerName: "istio.io/gateway-controller",
  statuses: {
    follow: (changed) => {
      const kind = statusKinds.find(({ kind: { kind } }) => kind === "Gateway");
      const status: ObjectStatus = {
        conditions: [{ type: "Accepted", status: "True", reason: "Accepted", message: "" }],
      };
      if (kind) changed(new Map([[kind, new Map([["shop/edge", { generation: 1, status }]])]]));
      return () => undefined;
    },
  },
});
const poolServices = inferencePoolController({
  mesh,
  revision: "default",
  systemNamespace: "istio-system",
  services: {
    follow: (changed) => {
      const ports = [{ name: "http-0", port: 54321, targetPort: 8000 }];
      const pool = { namespace: "shop", pool: "model", labels: { "istio.io/inferencepool-name": "model" } };
      changed([{ ...pool, name: "model-ip-1", selector: { app: "model" }, ports }]);
      return () => undefined;
    },
  },
});
const cases: readonly (readonly [keyof typeof permissions, Lock, Controller])[] = [
  ["namespaces", locks.namespaces, namespaceController({ roots, mesh })],
  ["clusterTrustBundles", locks.namespaces, clusterTrustBundleController(roots)],
  ["ipAllocation", locks.ipAllocation, ipAllocationController({ mesh, prefixes: [parsePrefix("240.240.0.0/16", 4)] })],
  [
    "ingressStatus",
    locks.ingress,
    ingressStatusController({ mesh, revision: "default", systemNamespace: "istio-system" }),
  ],
  ["serviceExports", locks.serviceExports, serviceExportController({ mesh })],
  ["analysisStatus", locks.analysis, analysisStatusController({ mesh, results: new Changeable(analyzed) })],
  ["nodeUntaint", locks.nodeUntaint, nodeUntaintController({ namespace: "istio-system" })],
  ["gatewayDeployments", gatewayDeploymentLock("default"), gatewayDeployments],
  ["gatewayStatus", gatewayStatusLock("default"), gatewayStatuses],
  ["inferencePools", inferencePoolLock("default"), poolServices],
  ["gatewayClasses", gatewayDeploymentLock("default"), gatewayClassController(defaultSettings)],
];

it("every controller has its permissions in a case below", () => {
  const names = ["leaderElection", "webhooks", "workloadRegistration", ...cases.map(([name]) => name)];
  expect(names.sort()).toEqual(Object.keys(permissions).sort());
});

const rbac = "rbac.authorization.k8s.io";
const binding = (role: string, namespace: string | undefined, rules: readonly PolicyRule[]): readonly ObjectInput[] => {
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const metadata = { name: role, ...(namespace !== undefined && { namespace }) };
  const subjects = [{ kind: "User", apiGroup: rbac, name: "istiod" }];
  return [
    { apiVersion: `${rbac}/v1`, kind, metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: rbac, kind, name: role },
      subjects,
    },
  ];
};

/** A cluster with a user that has some permissions, and its client. */
async function restricted(granted: readonly Permissions[]) {
  const cluster = await testCluster({
    namespaces: ["shop", "istio-system"],
    types: custom,
    authorization: "rbac",
    users: { secret: { username: "istiod", groups: [] } },
  });
  for (const object of [
    ...binding(
      "istiod",
      undefined,
      granted.flatMap(({ cluster }) => cluster),
    ),
    ...binding(
      "istiod",
      "istio-system",
      granted.flatMap(({ systemNamespace = [] }) => systemNamespace),
    ),
  ])
    await cluster.server.objects.create(object);
  const { server } = cluster;
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml.replace(server.tokens.admin, "secret")));
  onTestFinished(() => client.close());
  return { cluster, client, log: new RecordedLog() };
}

it.each(cases)("%s works with its permissions and those of leader election alone", async (name, lock, controller) => {
  const { cluster, client, log } = await restricted([permissions.leaderElection, permissions[name]]);
  for (const object of objects) {
    await cluster.server.objects.create(object);
    if (object["status"] !== undefined) await cluster.server.objects.updateStatus(object as never);
  }
  const candidacy = runElected(lock, (fenced) => runController(controller, { client: fenced, log }), {
    client,
    namespace: "istio-system",
    identity: "istiod-0",
    defaultRevision: () => "",
    log,
  });
  onTestFinished(() => candidacy.stop());
  const isLock = (write: string): boolean => write.includes(lock.name) || write.includes("istio-system/configmaps");
  const expected = name === "gatewayDeployments" ? 4 : 1;
  await eventually(() =>
    expect(cluster.writes().filter((write) => !isLock(write)).length).toBeGreaterThanOrEqual(expected),
  );
  expect(log.lines.filter((line) => !line.startsWith("info"))).toEqual([]);
});

it("the controllers of webhooks work with their permissions alone", async () => {
  const { cluster, client, log } = await restricted([permissions.webhooks]);
  const labels = { "istio.io/rev": "default" };
  const types = { MutatingWebhookConfiguration: "sidecar-injector", ValidatingWebhookConfiguration: "validation" };
  for (const [kind, name] of Object.entries(types))
    await cluster.server.objects.create({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind,
      metadata: { name, labels },
      webhooks: [
        {
          name: `${name}.istio.io`,
          clientConfig: { service: { name: "istiod", namespace: "istio-system" } },
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
          failurePolicy: "Ignore",
        },
      ],
    });
  const revision = "default";
  const probes: ProbeResult[] = [];
  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const result = await probeValidation({ client, namespace: "istio-system", revision, signal });
    probes.push(result);
    return result;
  };
  const controllers = [
    injectionWebhookController({ roots, revision }),
    validationWebhookController({ roots, revision, log, probe }),
  ];
  for (const controller of controllers) {
    const running = runController(controller, { client, log });
    onTestFinished(() => running.stop());
  }
  const path = "/apis/admissionregistration.k8s.io/v1";
  await eventually(() => {
    expect(cluster.writes()).toContain(`PUT ${path}/mutatingwebhookconfigurations/sidecar-injector`);
    expect(cluster.writes()).toContain(`PUT ${path}/validatingwebhookconfigurations/validation`);
    expect(probes[0]?.reason).toBe("the invalid object was not rejected");
  });
  expect(log.lines.filter((line) => !line.startsWith("info"))).toEqual([]);
});

it("workload registration works with its permissions alone", async () => {
  const { cluster, client, log } = await restricted([permissions.workloadRegistration]);
  const metadata = { namespace: "shop", name: "vms" };
  await cluster.server.objects.create({
    apiVersion: "networking.istio.io/v1",
    kind: "WorkloadGroup",
    metadata,
    spec: {},
  });
  const registration = new WorkloadRegistration({
    client,
    log,
    identity: "istiod-0",
    graceMs: 100,
    maxConnectionMs: Infinity,
    registers: true,
    reportsHealth: true,
    validatesIdentity: false,
  });
  onTestFinished(() => registration.stop());
  const workload = { id: "vm", namespace: "shop", group: "vms", address: "10.3.0.1", labels: {} };
  const stream = await registration.opened({ ...workload, acceptsTunnels: false, isProbed: true });
  stream?.report({ isHealthy: true, message: "" });
  const path = "/apis/networking.istio.io/v1/namespaces/shop/workloadentries";
  await eventually(() => expect(cluster.writes()).toContain(`PATCH ${path}/vms-10.3.0.1/status`));
  stream?.closed();
  await eventually(() => expect(cluster.writes()).toContain(`DELETE ${path}/vms-10.3.0.1`));
  expect(log.lines.filter((line) => !line.startsWith("info"))).toEqual([]);
});
