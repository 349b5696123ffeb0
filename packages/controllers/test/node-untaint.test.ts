import { nodeUntaintController } from "@istiod/controllers";
import { expect, it } from "vitest";
import { eventually, testCluster } from "./support/cluster.js";

const taints = [
  { key: "other", effect: "NoSchedule" },
  { key: "cni.istio.io/not-ready", effect: "NoSchedule" },
];
const node = (name: string) => ({ apiVersion: "v1", kind: "Node", metadata: { name }, spec: { taints } });
const pod = (name: string, nodeName: string, app: string, ready: string, namespace = "istio-system") => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace, name, labels: { "k8s-app": app } },
  spec: { nodeName, containers: [{ name: "install-cni", image: "install-cni" }] },
  status: { phase: "Running", conditions: [{ type: "Ready", status: ready }] },
});

it("a node loses the taint, and keeps the others, once the CNI plugin is ready on it", async () => {
  const cluster = await testCluster({ namespaces: ["istio-system", "shop"] });
  const { objects } = cluster.server;
  for (const name of ["ready", "waiting", "other-pod", "other-namespace"]) await objects.create(node(name));
  for (const created of [
    pod("a", "ready", "istio-cni-node", "True"),
    pod("b", "waiting", "istio-cni-node", "False"),
    pod("c", "other-pod", "something", "True"),
    pod("d", "other-namespace", "istio-cni-node", "True", "shop"),
  ]) {
    await objects.create(created);
    await objects.updateStatus(created);
  }
  const taintsOf = (name: string): unknown =>
    (objects.get({ apiVersion: "v1", kind: "Node", name })?.["spec"] as { readonly taints?: unknown }).taints;
  cluster.run(nodeUntaintController({ namespace: "istio-system" }));
  await eventually(() => expect(taintsOf("ready")).toEqual(taints.slice(0, 1)));
  await objects.updateStatus(pod("b", "waiting", "istio-cni-node", "True"));
  await eventually(() => expect(taintsOf("waiting")).toEqual(taints.slice(0, 1)));
  await objects.update({ ...node("waiting"), spec: { taints: taints.slice(1) } });
  await eventually(() => expect(taintsOf("waiting")).toEqual([]));
  for (const name of ["other-pod", "other-namespace"]) expect(taintsOf(name)).toEqual(taints);
  expect(cluster.writes()).toEqual([
    "PATCH /api/v1/nodes/ready",
    "PATCH /api/v1/nodes/waiting",
    "PATCH /api/v1/nodes/waiting",
  ]);
});
