import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { istioKinds } from "@istiod/config-schema";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { flagDefaults, startDiscovery } from "@istiod/istiod";
import { createApiClient, parseKubeconfig, requestToken } from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { readOptions, silentLog, startAgent } from "@istiod/pilot-agent";
import { clusterType, listenerType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";

const until = { timeout: 60_000, interval: 50 };
const apiVersion = "networking.istio.io/v1";
const workloadAddress = "10.3.0.1";
const types = istioKinds.flatMap(({ group, kind, versions }) =>
  versions.map((version) => ({
    group,
    version,
    kind,
    plural: `${kind.toLowerCase()}s`.replace(/([^aeiou])ys$/, "$1ies"),
    namespaced: true,
  })),
);

/** A temporary directory with these files. */
async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "agent-health-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

/** An API server with a WorkloadGroup, and an istiod that reads it. Returns the port for agents. */
async function meshWithGroup(): Promise<{ readonly server: ApiServer; readonly port: number }> {
  const server = await startApiServer({ types, namespaces: ["shop", "istio-system"], bookmarkIntervalMs: 200 });
  onTestFinished(() => server.stop());
  await server.objects.create({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { namespace: "shop", name: "vm" },
  });
  await server.objects.create({
    apiVersion,
    kind: "WorkloadGroup",
    metadata: { namespace: "shop", name: "vms" },
    spec: { metadata: { labels: { app: "vm" } }, template: { serviceAccount: "vm" } },
  });
  const none = { meshConfig: "", networksConfig: "", httpsAddr: "", monitoringAddr: "", shutdownDuration: 1000 };
  const addresses = { grpcAddr: "", httpAddr: "127.0.0.1:0", secureGRPCAddr: "127.0.0.1:0" };
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  const istiod = await startDiscovery(
    { ...flagDefaults({}), ...none, ...addresses, kubeconfig },
    { POD_NAME: "istiod-0", PILOT_WORKLOAD_ENTRY_GRACE_PERIOD: "1s" },
    pino({ level: "silent" }),
    "0.1.0",
  );
  onTestFinished(() => istiod.close());
  return { server, port: istiod.addresses["secureGRPCAddr"]?.port ?? 0 };
}

/** Returns the root certificate that istiod wrote, and a token of the workload. */
async function credentials(server: ApiServer): Promise<{ readonly root: string; readonly token: string }> {
  const configMap = { apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "istio-ca-root-cert" };
  const root = await vi.waitFor(() => {
    const data = server.objects.get(configMap)?.["data"] as Readonly<Record<string, string>> | undefined;
    if (data?.["root-cert.pem"] === undefined) throw new Error("no root certificate yet");
    return data["root-cert.pem"];
  }, until);
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
  const { token } = await requestToken(client, { namespace: "shop", name: "vm" }, { audiences: ["istio-ca"] });
  client.close();
  return { root, token };
}

/** Starts an agent without Envoy. Returns a port that leads to its xDS socket. */
async function agentOf({ server, port }: Awaited<ReturnType<typeof meshWithGroup>>, proxyConfig: object) {
  const { root, token } = await credentials(server);
  const secrets = "var/run/secrets";
  const directory = await folder({
    [`${secrets}/istio/root-cert.pem`]: root,
    [`${secrets}/tokens/istio-token`]: token,
  });
  const env = {
    PATH: process.env["PATH"],
    DISABLE_ENVOY: "true",
    AGENT_BIND_ADDRESS: "127.0.77.41",
    INSTANCE_IP: workloadAddress,
    POD_NAME: "vm-1",
    POD_NAMESPACE: "shop",
    SERVICE_ACCOUNT: "vm",
    ISTIOD_SAN: "istiod.istio-system.svc",
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    PROXY_CONFIG: JSON.stringify({ discoveryAddress: `127.0.0.1:${port}`, ...proxyConfig }),
  };
  const agent = await startAgent({ type: "sidecar", options: readOptions({ directory }, env), env, log: silentLog });
  onTestFinished(() => agent.terminate());
  const bridge = createServer((socket) => {
    const upstream = connect(join(directory, "etc/istio/proxy/XDS"));
    for (const end of [socket, upstream]) end.on("error", () => [socket, upstream].forEach((each) => each.destroy()));
    socket.pipe(upstream).pipe(socket);
  });
  await once(bridge.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void bridge.close());
  return (bridge.address() as AddressInfo).port;
}

test("the health that an agent probes decides about its WorkloadEntry", { timeout: 180_000 }, async () => {
  const mesh = await meshWithGroup();
  let status = 200;
  const application = createHttpServer((_, response) => response.writeHead(status).end());
  await once(application.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void application.close());
  const readinessProbe = {
    periodSeconds: 1,
    failureThreshold: 1,
    httpGet: { host: "127.0.0.1", path: "/healthz", port: (application.address() as AddressInfo).port },
  };
  const xdsPort = await agentOf(mesh, { readinessProbe });
  // Stands in for Envoy, whose stream the agent relays.
  const node = create(NodeSchema, {
    id: `sidecar~${workloadAddress}~vm-1.shop~shop.svc.cluster.local`,
    metadata: { NAMESPACE: "shop", AUTO_REGISTER_GROUP: "vms", PROXY_CONFIG: { readinessProbe } },
  });
  const envoy = new XdsClient({ host: "127.0.0.1", port: xdsPort }, { variant: "delta", node });
  onTestFinished(() => envoy.close());
  envoy.subscribe(clusterType);
  await envoy.accept(clusterType);
  // The agent reports once Envoy asks for listeners, as Istio's does.
  envoy.subscribe(listenerType);

  const named = { apiVersion, kind: "WorkloadEntry", namespace: "shop", name: `vms-${workloadAddress}` };
  const conditions = (): unknown =>
    (mesh.server.objects.get(named)?.["status"] as { readonly conditions?: unknown } | undefined)?.conditions;
  const healthy = (is: "True" | "False") =>
    vi.waitFor(() => expect(conditions()).toMatchObject([{ type: "Healthy", status: is }]), until);
  await healthy("True");
  status = 503;
  await healthy("False");
  expect(conditions()).toMatchObject([{ message: expect.stringContaining("503") }]);
  status = 200;
  await healthy("True");
  await envoy.close();
  await vi.waitFor(() => expect(mesh.server.objects.get(named)).toBeUndefined(), until);
});
