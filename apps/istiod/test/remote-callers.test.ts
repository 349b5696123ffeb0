import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { ApiServer, ObjectInput } from "@istiod/kubernetes/testing";
import { clusterType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { accountToken } from "./account-token.js";
import {
  accessTo,
  clusterWithCart,
  clusterz,
  Endpoints,
  type Istiod,
  remoteSecret,
  secretNamed,
  serveCluster,
  until,
} from "./remote-mesh.js";
import { folder } from "./serving.js";

const tokenOf = (server: ApiServer): Promise<string> => accountToken(server, { namespace: "shop", name: "web" });

/** Opens a stream with a token. Resolves to the result: accepted, or the error. */
async function open(istiod: Istiod, token: string, clusterid?: string): Promise<string> {
  const node = create(NodeSchema, {
    id: "sidecar~10.9.0.1~web-0.shop~shop.svc.cluster.local",
    metadata: { NAMESPACE: "shop", SERVICE_ACCOUNT: "web" },
  });
  const port = istiod.addresses["secureGRPCAddr"]?.port ?? 0;
  const headers = { authorization: `Bearer ${token}`, ...(clusterid !== undefined && { clusterid }) };
  const proxy = new XdsClient(
    { host: "127.0.0.1", port, tls: { rejectUnauthorized: false } },
    { variant: "delta", node, headers },
  );
  onTestFinished(() => proxy.close());
  proxy.subscribe(clusterType);
  const accepted = proxy.accept(clusterType).then(() => "accepted");
  return await Promise.race([accepted, proxy.ended.then((error) => error?.rawMessage ?? "ended")]).catch(
    (error: unknown) => (error as { rawMessage: string }).rawMessage,
  );
}

test("callers are authenticated by the API server of the cluster that they name, also by an alias", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remote = await clusterWithCart("10.2.0.1");
  await config.objects.create(remoteSecret("east", { east: accessTo(remote) }));
  const flags = { secureGRPCAddr: "127.0.0.1:0", clusterAliases: { "east-1": "east", own: "Kubernetes" } };
  const istiod = await serveCluster(config, flags);
  const [here, there] = [await tokenOf(config), await tokenOf(remote)];
  const failure = "authentication failure";
  expect({
    "own token, no cluster": await open(istiod, here),
    "own token, alias": await open(istiod, here, "own"),
    "own token, east": await open(istiod, here, "east"),
    "token of east": await open(istiod, there, "east"),
    "token of east, alias": await open(istiod, there, "east-1"),
    "token of east, no cluster": await open(istiod, there),
    "token of east, unknown cluster": await open(istiod, there, "west"),
  }).toEqual({
    "own token, no cluster": "accepted",
    "own token, alias": "accepted",
    "own token, east": failure,
    "token of east": "accepted",
    "token of east, alias": "accepted",
    "token of east, no cluster": failure,
    "token of east, unknown cluster": failure,
  });
  const reasons = istiod.lines.map(({ msg }) => msg).join("\n");
  expect(reasons).toContain(
    'client claims to be in cluster "west", but we only know about local cluster "Kubernetes" and remote clusters [east]',
  );
  // New credentials review tokens as well, and none do after the cluster is removed.
  await config.objects.update(remoteSecret("east", { east: accessTo(remote).replaceAll("reader", "reader-2") }));
  await vi.waitFor(() => expect(istiod.lines.map(({ msg }) => msg)).toContain("Update cluster"), until);
  expect(await open(istiod, await tokenOf(remote), "east")).toBe("accepted");
  await config.objects.delete(secretNamed("east"));
  await vi.waitFor(async () => expect(await clusterz(istiod)).toHaveLength(1), until);
  expect(await open(istiod, there, "east")).toBe(failure);
}, 180_000);

test("an alias stands for a cluster in the metadata of proxies", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remote = await clusterWithCart("10.2.0.1");
  await config.objects.create(remoteSecret("east", { east: accessTo(remote) }));
  const meshConfig = "serviceSettings: [{settings: {clusterLocal: true}, hosts: ['*.shop.svc.cluster.local']}]\n";
  const data = { mesh: meshConfig };
  const metadata = { name: "istio", namespace: "istio-system" };
  await config.objects.create({ apiVersion: "v1", kind: "ConfigMap", metadata, data });
  const istiod = await serveCluster(config, { meshConfig: "no-such-file", clusterAliases: { "east-1": "east" } });
  await new Endpoints(istiod, { CLUSTER_ID: "east-1" }).become("10.2.0.1:8080");
  await new Endpoints(istiod, { CLUSTER_ID: "Kubernetes" }).become("10.1.0.1:8080");
}, 120_000);

function gateway(network: string, address: string): ObjectInput {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "east-west", namespace: "istio-system", labels: { "topology.istio.io/network": network } },
    spec: {
      type: "LoadBalancer",
      selector: { app: "gateway" },
      ports: [{ name: "tls", port: 15443, protocol: "TCP" }],
    },
    status: { loadBalancer: { ingress: [{ ip: address }] } },
  };
}

test("each cluster's network and its gateway are read of the cluster itself", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remote = await clusterWithCart("10.2.0.1");
  for (const [server, network, address] of [
    [config, "here", "203.0.113.1"],
    [remote, "there", "203.0.113.2"],
  ] as const) {
    const labels = { "topology.istio.io/network": network };
    await server.objects.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system", labels } });
    const service = gateway(network, address);
    await server.objects.create(service);
    await server.objects.updateStatus({ ...service, status: service["status"] });
  }
  await config.objects.create(remoteSecret("east", { east: accessTo(remote) }));
  const istiod = await serveCluster(config);
  const proxy = new Endpoints(istiod, { CLUSTER_ID: "Kubernetes", NETWORK: "here" });
  await proxy.become("10.1.0.1:8080", "203.0.113.2:15443");
  await new Endpoints(istiod, { CLUSTER_ID: "east", NETWORK: "there" }).become("10.2.0.1:8080", "203.0.113.1:15443");
  const moved = gateway("there", "203.0.113.3");
  await remote.objects.updateStatus({ ...moved, status: moved["status"] });
  await proxy.become("10.1.0.1:8080", "203.0.113.3:15443");
}, 120_000);

test("a cluster of --clusterDir is not read by a Secret as well", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remote = await clusterWithCart("10.2.0.1");
  await config.objects.create(remoteSecret("east", { east: accessTo(remote) }));
  const istiod = await serveCluster(config, { clusterDir: [`east=${await folder({})}`] });
  expect(await clusterz(istiod)).toEqual([
    { id: "Kubernetes", secretName: "", syncStatus: "synced" },
    { id: "east", secretName: "--clusterDir", syncStatus: "synced" },
  ]);
  expect(istiod.lines.map(({ msg }) => msg).join("\n")).toContain(
    "cluster east is ignored, because --clusterDir gives access to it",
  );
  expect(remote.requests).toEqual([]);
}, 120_000);
