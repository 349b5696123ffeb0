import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { type KubernetesObject, requestToken } from "@istiod/kubernetes";
import { type ApiServer, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { clusterType, endpointType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { accountToken } from "./account-token.js";
import { istioTypes } from "@istiod/commands/testing";
import { type Istiod, serveCluster, until } from "./remote-mesh.js";
import { client, decoded, folder, serve } from "./serving.js";
import { clusterKinds, startTestCluster } from "./test-clusters.js";

const apiVersion = "networking.istio.io/v1";
const healthType = "type.googleapis.com/istio.v1.HealthInformation";
const name = "vms-10.3.0.1";

const configuration: readonly ObjectInput[] = [
  {
    apiVersion,
    kind: "WorkloadGroup",
    metadata: { namespace: "shop", name: "vms" },
    spec: { metadata: { labels: { app: "vm" } }, template: { serviceAccount: "vm" } },
  },
  {
    apiVersion,
    kind: "ServiceEntry",
    metadata: { namespace: "shop", name: "vm" },
    spec: {
      hosts: ["vm.example.com"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "STATIC",
      workloadSelector: { labels: { app: "vm" } },
    },
  },
];

async function cluster(): Promise<ApiServer> {
  const server = await startApiServer({
    types: istioTypes,
    namespaces: ["shop", "istio-system"],
    bookmarkIntervalMs: 200,
  });
  onTestFinished(() => server.stop());
  for (const object of configuration) await server.objects.create(object);
  return server;
}

const entryOf = ({ objects }: ApiServer) => objects.get({ apiVersion, kind: "WorkloadEntry", namespace: "shop", name });

/** A virtual machine's agent with a token of its service account. */
async function agent(istiod: Istiod, server: ApiServer, account = "vm"): Promise<XdsClient> {
  return agentWith(istiod, await accountToken(server, { namespace: "shop", name: account }));
}

async function agentWith(istiod: Istiod, token: string): Promise<XdsClient> {
  const node = create(NodeSchema, {
    id: "sidecar~10.3.0.1~vm-1.shop~shop.svc.cluster.local",
    metadata: {
      NAMESPACE: "shop",
      AUTO_REGISTER_GROUP: "vms",
      PROXY_CONFIG: { readinessProbe: { periodSeconds: 1 } },
    },
  });
  const port = istiod.addresses["secureGRPCAddr"]?.port ?? 0;
  const opened = new XdsClient(
    { host: "127.0.0.1", port, tls: { rejectUnauthorized: false } },
    { variant: "delta", node, headers: { authorization: `Bearer ${token}` } },
  );
  onTestFinished(() => opened.close());
  opened.subscribe(clusterType);
  return opened;
}

/** Reads the addresses of a service as a proxy is sent them. */
async function addressesOf(istiod: Istiod): Promise<readonly string[]> {
  const proxy = client(istiod, "delta", "sidecar~10.9.0.1~web.shop~shop.svc.cluster.local");
  proxy.subscribe(endpointType, ["outbound|80||vm.example.com"]);
  const [assignment] = decoded(ClusterLoadAssignmentSchema, await proxy.accept(endpointType));
  await proxy.close();
  return (assignment?.endpoints ?? []).flatMap(({ lbEndpoints }) =>
    lbEndpoints.map(({ hostIdentifier, healthStatus }) => {
      const socket = (hostIdentifier.value as { readonly address?: { readonly address: { readonly value?: unknown } } })
        .address?.address.value as { readonly address: string };
      return `${socket.address} ${healthStatus}`;
    }),
  );
}

test.for(clusterKinds)(
  "a virtual machine of a WorkloadGroup is an endpoint while it is connected and healthy: %s API server",
  { timeout: 180_000 },
  async (kind, context) => {
    const server = await startTestCluster(kind, context);
    for (const object of configuration) await server.create(object);
    const account = { namespace: "shop", name: "vm" };
    await server.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: account });
    const { token } = await requestToken(server.client, account, { audiences: ["istio-ca"] });
    const read = () =>
      server.read<KubernetesObject & { readonly status?: { readonly conditions?: unknown } }>(
        "WorkloadEntry",
        name,
        "shop",
      );
    const env = { POD_NAME: "istiod-0", PILOT_WORKLOAD_ENTRY_GRACE_PERIOD: "1s" };
    const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig }), "kubeconfig");
    const istiod = await serve({ kubeconfig, secureGRPCAddr: "127.0.0.1:0" }, env);
    const vm = await agentWith(istiod, token);
    await vm.accept(clusterType);
    expect((await read())?.metadata?.annotations).toMatchObject({
      "istio.io/autoRegistrationGroup": "vms",
      "istio.io/workloadController": "istiod-0",
      "proxy.istio.io/health-checks-enabled": "true",
    });
    vm.send({ typeUrl: healthType });
    const conditions = async (): Promise<unknown> => (await read())?.status?.conditions;
    await vi.waitFor(
      async () => expect(await conditions()).toMatchObject([{ type: "Healthy", status: "True" }]),
      until,
    );
    await vi.waitFor(async () => expect(await addressesOf(istiod)).toEqual(["10.3.0.1 0"]), until);
    vm.send({ typeUrl: healthType, error: "connection refused" });
    const failed = { type: "Healthy", status: "False", message: "connection refused" };
    await vi.waitFor(async () => expect(await conditions()).toMatchObject([failed]), until);
    await vi.waitFor(async () => expect(await addressesOf(istiod)).not.toContain("10.3.0.1 0"), until);
    await vm.close();
    await vi.waitFor(async () => expect(await read()).toBeUndefined(), until);
  },
);

test("a workload of another service account cannot register, and one that istiod cannot look up neither", async () => {
  const server = await cluster();
  const istiod = await serveCluster(server, { secureGRPCAddr: "127.0.0.1:0" });
  const denied = await (await agent(istiod, server, "web")).ended;
  expect(denied?.rawMessage).toContain("service account mismatch: web, expected vm");
  expect(denied?.code).toBe(Code.PermissionDenied);
  await server.objects.delete({ apiVersion, kind: "WorkloadGroup", namespace: "shop", name: "vms" });
  await vi.waitFor(async () => {
    const missing = await (await agent(istiod, server)).ended;
    expect(missing?.rawMessage).toContain("cannot find WorkloadGroup shop/vms");
    expect(missing?.code).toBe(Code.FailedPrecondition);
  }, until);
  expect(entryOf(server)).toBeUndefined();
});

test("without both variables, nothing is registered", async () => {
  const server = await cluster();
  const istiod = await serveCluster(
    server,
    { secureGRPCAddr: "127.0.0.1:0" },
    { PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION: "false", PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS: "false" },
  );
  const vm = await agent(istiod, server);
  await vm.accept(clusterType);
  expect(entryOf(server)).toBeUndefined();
});
