import {
  registrationMetrics,
  type Workload,
  WorkloadRegistration,
  type WorkloadRegistrationOptions,
} from "@istiod/controllers";
import { MemoryMeter } from "@istiod/metrics/testing";
import { expect, it, onTestFinished } from "vitest";
import { eventually, testCluster, type TestCluster } from "./support/cluster.js";

const apiVersion = "networking.istio.io/v1";
const types = ["WorkloadEntry", "WorkloadGroup"].map((kind) => ({
  group: "networking.istio.io",
  version: "v1",
  kind,
  plural: kind.endsWith("y") ? "workloadentries" : "workloadgroups",
  namespaced: true,
}));
const group = {
  apiVersion,
  kind: "WorkloadGroup",
  metadata: { namespace: "shop", name: "vms" },
  spec: {
    metadata: { labels: { app: "vm", from: "group" }, annotations: { note: "kept" } },
    template: { serviceAccount: "vm", ports: { http: 8080 }, labels: { from: "template", tier: "back" } },
  },
};
const workload: Workload = {
  id: "vm-1.shop",
  namespace: "shop",
  group: "vms",
  address: "10.3.0.1",
  network: "south",
  locality: "r/z/s",
  labels: { from: "node", "istio-locality": "r.z.s" },
  acceptsTunnels: false,
  isProbed: true,
  identity: { namespace: "shop", serviceAccount: "vm" },
};
const name = "vms-10.3.0.1-south";

interface Entry {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: unknown;
    readonly ownerReferences?: unknown;
  };
  readonly spec: unknown;
  readonly status?: { readonly conditions?: readonly Readonly<Record<string, string>>[] };
}

const entryOf = ({ server }: TestCluster, of = name): Entry | undefined =>
  server.objects.get({ apiVersion, kind: "WorkloadEntry", namespace: "shop", name: of }) as never;
const annotationsOf = (cluster: TestCluster, of = name) => entryOf(cluster, of)?.metadata.annotations ?? {};

async function start(withGroup = true) {
  const cluster = await testCluster({ namespaces: ["shop"], types });
  if (withGroup) await cluster.server.objects.create(group);
  const istiod = (identity: string, options: Partial<WorkloadRegistrationOptions> = {}): WorkloadRegistration => {
    const registration = new WorkloadRegistration({
      client: cluster.client,
      log: cluster.log,
      identity,
      graceMs: 1000,
      maxConnectionMs: Infinity,
      registers: true,
      reportsHealth: true,
      validatesIdentity: true,
      ...options,
    });
    onTestFinished(() => registration.stop());
    return registration;
  };
  return { cluster, istiod };
}

it("a workload of a WorkloadGroup has a WorkloadEntry while it is connected, and a while longer", async () => {
  const { cluster, istiod } = await start();
  const meter = new MemoryMeter();
  const registration = istiod("istiod-0", { metrics: registrationMetrics(meter) });
  const stream = await registration.opened(workload);
  const entry = entryOf(cluster);
  const uid = cluster.server.objects.get({ ...group, namespace: "shop", name: "vms" })?.metadata.uid;
  expect(entry?.metadata).toMatchObject({
    labels: { app: "vm", from: "node", tier: "back" },
    ownerReferences: [{ apiVersion, kind: "WorkloadGroup", name: "vms", uid, controller: true }],
    annotations: {
      "istio.io/autoRegistrationGroup": "vms",
      "istio.io/workloadController": "istiod-0",
      "proxy.istio.io/health-checks-enabled": "true",
      note: "kept",
    },
  });
  expect(entry?.spec).toEqual({
    address: "10.3.0.1",
    serviceAccount: "vm",
    ports: { http: 8080 },
    labels: { app: "vm", from: "node", tier: "back" },
    network: "south",
    locality: "r/z/s",
  });
  stream?.closed();
  await eventually(() => expect(annotationsOf(cluster)["istio.io/disconnectedAt"]).toBeDefined());
  expect(annotationsOf(cluster)["istio.io/connectedAt"]).toBeUndefined();
  await eventually(() => expect(entryOf(cluster)).toBeUndefined());
  expect(cluster.writes().map((write) => write.split(" ")[0])).toEqual(["POST", "PATCH", "DELETE"]);
  await expect(registration.opened({ ...workload, group: "unknown" })).rejects.toThrow("cannot find WorkloadGroup");
  const counted = () =>
    ["success", "updates", "unregister", "deletes", "errors"].map(
      (of) => meter.value(`auto_registration_${of}_total`) ?? 0,
    );
  await eventually(() => expect(counted()).toEqual([1, 0, 1, 1, 1]));
});

it("a workload that returns in time keeps its WorkloadEntry, which belongs to the istiod of the newest stream", async () => {
  const { cluster, istiod } = await start();
  const [first, second] = [istiod("istiod-0"), istiod("istiod-1")];
  const old = await first.opened(workload);
  const returned = await second.opened(workload);
  expect(annotationsOf(cluster)["istio.io/workloadController"]).toBe("istiod-1");
  // The end of the former stream is noticed late, and concerns nobody.
  old?.closed();
  old?.report({ isHealthy: false, message: "old" });
  const other = await second.opened({ ...workload, address: "10.3.0.2" });
  returned?.report({ isHealthy: true, message: "" });
  await eventually(() => expect(entryOf(cluster)?.status?.conditions?.[0]).toMatchObject({ status: "True" }));
  expect(annotationsOf(cluster)["istio.io/disconnectedAt"]).toBeUndefined();
  // An istiod that ends leaves the cleanup to the others.
  other?.closed();
  await second.stop();
  await eventually(() => expect(entryOf(cluster, "vms-10.3.0.2-south")).toBeUndefined());
  expect(entryOf(cluster)).toBeDefined();
});

it("the health of a workload is a condition of its WorkloadEntry", async () => {
  const { cluster, istiod } = await start();
  const stream = await istiod("istiod-0").opened(workload);
  stream?.report({ isHealthy: false, message: "probe failed" });
  await eventually(() =>
    expect(entryOf(cluster)?.status?.conditions).toMatchObject([
      { type: "Healthy", status: "False", message: "probe failed" },
    ]),
  );
  stream?.report({ isHealthy: true, message: "" });
  await eventually(() => expect(entryOf(cluster)?.status?.conditions).toMatchObject([{ status: "True" }]));
  expect(entryOf(cluster)?.status?.conditions?.[0]?.["message"]).toBeUndefined();
});

it("an existing WorkloadEntry keeps its spec, and loses its health when the workload is gone", async () => {
  const { cluster, istiod } = await start();
  const existing = {
    apiVersion,
    kind: "WorkloadEntry",
    metadata: { namespace: "shop", name: "own", annotations: { "proxy.istio.io/health-checks-enabled": "true" } },
    spec: { address: "10.3.0.9", serviceAccount: "vm" },
  };
  await cluster.server.objects.create(existing);
  const { group: _group, ...ungrouped } = workload;
  const stream = await istiod("istiod-0").opened({ ...ungrouped, entry: "own" });
  stream?.report({ isHealthy: true, message: "" });
  await eventually(() => expect(entryOf(cluster, "own")?.status?.conditions).toHaveLength(1));
  stream?.closed();
  await eventually(() => expect(entryOf(cluster, "own")?.status?.conditions).toEqual([]));
  expect(entryOf(cluster, "own")?.spec).toEqual(existing.spec);
});

it("a WorkloadEntry is created again with its WorkloadGroup", async () => {
  const { cluster, istiod } = await start();
  await istiod("istiod-0").opened(workload);
  const { objects } = cluster.server;
  await objects.delete({ apiVersion, kind: "WorkloadGroup", namespace: "shop", name: "vms" });
  await objects.delete({ apiVersion, kind: "WorkloadEntry", namespace: "shop", name });
  await objects.create(group);
  await eventually(() => expect(annotationsOf(cluster)["istio.io/workloadController"]).toBe("istiod-0"));
});

it("workloads without a group, without permission, or that cannot be written are rejected", async () => {
  const { cluster, istiod } = await start(false);
  const registration = istiod("istiod-0");
  await expect(registration.opened(workload)).rejects.toThrow("cannot find WorkloadGroup shop/vms");
  await cluster.server.objects.create(group);
  const { identity: _identity, ...anonymous } = workload;
  const denied = [
    [anonymous, "requires a verified identity"],
    [{ ...workload, identity: { namespace: "bank", serviceAccount: "vm" } }, "namespace mismatch: bank"],
    [{ ...workload, identity: { namespace: "shop", serviceAccount: "web" } }, "service account mismatch: web"],
  ] as const;
  for (const [given, message] of denied)
    await eventually(async () => expect(registration.opened(given)).rejects.toThrow(message));
  expect(entryOf(cluster)).toBeUndefined();
  expect(await istiod("istiod-1", { validatesIdentity: false }).opened(anonymous)).toBeDefined();
  const { group: _group, ...ungrouped } = workload;
  expect(await registration.opened(ungrouped)).toBeUndefined();
  await expect(registration.opened({ ...ungrouped, entry: "none" })).rejects.toThrow(
    "cannot find WorkloadEntry shop/none",
  );
  await cluster.server.faults.failRequests({ status: 503, times: 1_000_000, method: "POST" });
  const unavailable = istiod("istiod-2", { timeoutMs: 500 }).opened({ ...workload, address: "10.3.0.3" });
  await expect(unavailable).rejects.toThrow("it could not be written within 500 ms");
});

it("a WorkloadEntry whose istiod and workload ended together is deleted when no stream can be left", async () => {
  const { cluster, istiod } = await start();
  await cluster.server.objects.create({
    apiVersion,
    kind: "WorkloadEntry",
    metadata: {
      namespace: "shop",
      name: "left",
      annotations: {
        "istio.io/autoRegistrationGroup": "vms",
        "istio.io/workloadController": "istiod-gone",
        "istio.io/connectedAt": new Date().toISOString(),
      },
    },
    spec: { address: "10.3.0.9" },
  });
  istiod("istiod-0", { maxConnectionMs: 1500 });
  await eventually(() => expect(entryOf(cluster, "left")).toBeUndefined());
});
