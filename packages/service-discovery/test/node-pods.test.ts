import { nodePods } from "@istiod/service-discovery";
import { expect, it } from "vitest";
import { Mesh } from "./mesh.js";

const pod = (
  name: string,
  { namespace = "shop", account = "cart", node = "node-1", phase = "Running" } = {},
): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: ${namespace}, uid: uid-${name} }
spec: { serviceAccountName: ${account}, nodeName: "${node}", containers: [{ name: app, image: app }] }
status: { phase: ${phase} }
---
apiVersion: v1
kind: Namespace
metadata: { name: ${namespace}, labels: { name: ${namespace} } }
`;
const cart = { cluster: "Kubernetes", node: "node-1", namespace: "shop", serviceAccount: "cart" };

it("a Pod has its UID, node and service account", () => {
  const mesh = new Mesh(pod("cart-1")).apply(pod("cart-2", { node: "" }), "east");
  const pods = nodePods(mesh.db);
  expect(pods.pod("Kubernetes", "shop", "cart-1")).toEqual({
    uid: "uid-cart-1",
    node: "node-1",
    serviceAccount: "cart",
  });
  expect(pods.pod("east", "shop", "cart-2")).toEqual({ uid: "uid-cart-2", node: "", serviceAccount: "cart" });
  expect(pods.pod("east", "shop", "cart-1")).toBeUndefined();
});

it("a service account runs on a node while one of its Pods does", () => {
  const mesh = new Mesh(pod("cart-1") + "---" + pod("web-1", { account: "web" }));
  const pods = nodePods(mesh.db);
  expect(pods.runs(cart)).toBe(true);
  for (const other of [{ cluster: "east" }, { node: "node-2" }, { namespace: "bank" }, { serviceAccount: "admin" }])
    expect(pods.runs({ ...cart, ...other })).toBe(false);
  mesh.apply(pod("cart-2") + "---" + pod("cart-1", { phase: "Succeeded" }));
  expect(pods.runs(cart)).toBe(true);
  mesh.remove(pod("cart-2"));
  expect(pods.runs(cart)).toBe(false);
  mesh.apply(pod("cart-1", { phase: "Pending" }));
  expect(pods.runs(cart)).toBe(true);
});

it("Pods of namespaces that are not discovered do not count", () => {
  const mesh = new Mesh(pod("cart-1"));
  const pods = nodePods(mesh.db);
  mesh.meshConfig({ discoverySelectors: [{ matchLabels: { name: "bank" } }] });
  expect([pods.pod("Kubernetes", "shop", "cart-1"), pods.runs(cart)]).toEqual([undefined, false]);
  mesh.meshConfig({ discoverySelectors: [{ matchLabels: { name: "shop" } }] });
  expect([pods.pod("Kubernetes", "shop", "cart-1")?.node, pods.runs(cart)]).toEqual(["node-1", true]);
});
