import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { statusExits } from "@istiod/replicas";
import { type ApiServer, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { EnvoyClient } from "@istiod/xds-server/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { folder, serve } from "./serving.js";
import { runStatus } from "./status-command.js";

const group = "networking.istio.io";
const path = `/apis/${group}/v1`;
const watches = { watch: true, pathPrefix: `${path}/virtualservices` };
const lists = { watch: false, method: "GET", pathPrefix: `${path}/namespaces/shop/virtualservices` };
const name = "VirtualService/shop/cart";

const service: ObjectInput = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "cart", namespace: "shop" },
  spec: { ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 80 }], clusterIP: "10.96.0.10" },
};
const route = (timeout: string): ObjectInput => ({
  apiVersion: `${group}/v1`,
  kind: "VirtualService",
  metadata: { name: "cart", namespace: "shop" },
  spec: { hosts: ["cart"], http: [{ route: [{ destination: { host: "cart" } }], timeout }] },
});
const reference = { apiVersion: `${group}/v1`, kind: "VirtualService", namespace: "shop", name: "cart" };

/** An istiod that reads a cluster with a VirtualService, and a proxy that has it. */
async function serving() {
  const server = await startApiServer({
    types: [{ group, version: "v1", kind: "VirtualService", plural: "virtualservices", namespaced: true }],
    namespaces: ["shop", "istio-system"],
    bookmarkIntervalMs: 200,
  });
  onTestFinished(() => server.stop());
  await server.objects.create(service);
  await server.objects.create(route("1s"));
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  const istiod = await serve({ kubeconfig });
  const metadata = { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.27.0", LABELS: { app: "web" } };
  const node = create(NodeSchema, { id: "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local", metadata });
  const address = { host: "127.0.0.1", port: istiod.addresses["grpcAddr"]?.port ?? 0 };
  const proxy = new EnvoyClient(address, { variant: "delta", node });
  onTestFinished(() => proxy.close());
  await proxy.initialized();
  await proxy.settled();
  return { server, status: (...args: readonly string[]) => runStatus(istiod, name, ...args) };
}

/** Ends the watch of VirtualServices; returns when the next one waits, so that it delivers nothing until `resume`. */
async function delayWatch(server: ApiServer): Promise<void> {
  await server.faults.delayRequests({ ...watches, delayMs: 600_000 });
  await server.faults.dropConnections("end", watches);
}

async function resume(server: ApiServer): Promise<void> {
  await server.faults.clear();
  await server.faults.dropConnections("reset", watches);
}

const live = { exit: statusExits.live, text: `${name}: live on 1 of 1 proxy\n` };
const former = "  stale: istiod has not read the latest version from cluster Kubernetes yet\n";

test("after an edit, status waits until istiod has read it, however late the watch delivers it", async () => {
  const { server, status } = await serving();
  await delayWatch(server);
  expect(await status("--wait")).toEqual(live);
  await server.objects.apply(route("2s"));
  expect(await status("--wait", "--timeout", "1ms")).toEqual({
    exit: statusExits.notLive,
    text: `${live.text}${former}`,
  });
  let isDone = false;
  const waiting = status("--wait", "--timeout", "60s").finally(() => (isDone = true));
  // Further answers are about the former version as well.
  const asked = vi.spyOn(globalThis, "fetch");
  await vi.waitFor(() => expect(asked.mock.calls.length).toBeGreaterThan(2), { timeout: 20_000 });
  asked.mockRestore();
  expect(isDone).toBe(false);
  await resume(server);
  expect(await waiting).toEqual(live);
});

test("an object that was just created or deleted is waited for in the same way", async () => {
  const { server, status } = await serving();
  await delayWatch(server);
  await server.objects.delete(reference);
  expect(await status("--for", "gone")).toMatchObject({ exit: statusExits.notLive, text: `${live.text}${former}` });
  const gone = status("--wait", "--for", "gone", "--timeout", "60s");
  await resume(server);
  expect(await gone).toEqual({ exit: statusExits.live, text: `${name}: deleted, gone from 1 of 1 proxy\n` });

  await delayWatch(server);
  await server.objects.create(route("3s"));
  // Without asking the API server, an unknown object would count as gone.
  expect(await status("--for", "gone")).toMatchObject({
    exit: statusExits.notLive,
    text: expect.stringContaining(former) as string,
  });
  const created = status("--wait", "--timeout", "60s");
  await resume(server);
  expect(await created).toEqual(live);
});

test("while the API server cannot be asked, an object is not reported as live, with the reason", async () => {
  const { server, status } = await serving();
  await server.faults.failRequests({ ...lists, status: 503, times: 1_000_000 });
  const { exit, text } = await status("--wait", "--timeout", "1ms");
  expect(exit).toBe(statusExits.notLive);
  expect(text.split("\n")).toEqual([
    `${name}: live on 1 of 1 proxy`,
    expect.stringMatching(
      /^ {2}possibly stale: istiod cannot read the latest version from cluster Kubernetes: GET .*virtualservices.* 503/,
    ) as string,
    "",
  ]);
  await server.faults.clear();
  expect(await status("--wait", "--timeout", "60s")).toEqual(live);
});
