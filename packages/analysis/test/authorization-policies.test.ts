import { expect, test } from "vitest";
import { messagesIn, object, placesIn } from "./messages-in.js";

const codes = ["IST0101", "IST0127"];

const policy = (name: string, spec: object): string =>
  object("AuthorizationPolicy", name, { spec: { rules: [{}], ...spec } });
const selecting = (labels: Readonly<Record<string, string>>): object => ({ selector: { matchLabels: labels } });
const pod = (
  name: string,
  labels: Readonly<Record<string, string>>,
  spec: object = { containers: [] },
  metadata = {},
): string => object("Pod", name, { spec }, { labels, ...metadata });
const namespace = (name: string, labels = {}): string => object("Namespace", "", { metadata: { name, labels } });
const proxy = {
  containers: [
    { name: "app", image: "app" },
    { name: "istio-proxy", image: "auto" },
  ],
};

test("a policy must select a workload of the mesh in its namespace", () => {
  expect(
    messagesIn(policy("shop/p", selecting({ app: "crat" })) + pod("shop/cart", { app: "cart" }, proxy), codes),
  ).toEqual([
    'IST0127 AuthorizationPolicy shop/p 1: no matching workloads with the labels "app=crat", so the policy has no effect: no pod in namespace shop has the label app=crat; did you mean "app=cart"?',
  ]);
  expect(messagesIn(policy("shop/p", selecting({ app: "cart" })) + pod("shop/cart", { app: "cart" }), codes)).toEqual([
    'IST0127 AuthorizationPolicy shop/p 1: no matching workloads with the labels "app=cart", so the policy has no effect: the selected pods are not in the mesh: they have no sidecar and are not in ambient mode',
  ]);
  expect(
    messagesIn(policy("shop/p", selecting({ app: "cart" })) + pod("shop/cart", { app: "cart" }, proxy), codes),
  ).toEqual([]);
  expect(placesIn(policy("shop/p", {}) + pod("books/cart", {}, proxy), codes)).toEqual([
    "IST0127 AuthorizationPolicy shop/p 1",
  ]);
  expect(messagesIn(policy("shop/p", {}) + pod("shop/cart", {}, proxy), codes)).toEqual([]);
});

test("pods are in the mesh by container, label, annotation, namespace label or ambient mode", () => {
  const found = (...objects: readonly string[]): number =>
    messagesIn(policy("shop/p", {}) + objects.join(""), codes).length;
  const inject = (value: string): Readonly<Record<string, string>> => ({ "sidecar.istio.io/inject": value });
  expect(found(pod("shop/a", inject("true")))).toBe(0);
  expect(found(pod("shop/a", {}, undefined, { annotations: inject("true") }))).toBe(0);
  expect(found(pod("shop/a", {}, undefined, { annotations: { "ambient.istio.io/redirection": "enabled" } }))).toBe(0);
  expect(found(pod("shop/a", {}), namespace("shop", { "istio-injection": "enabled" }))).toBe(0);
  expect(found(pod("shop/a", inject("false")), namespace("shop", { "istio-injection": "enabled" }))).toBe(1);
  expect(found(pod("shop/a", {}), namespace("shop", { "istio-injection": "disabled" }))).toBe(1);
});

test("a policy in the root namespace applies to the whole mesh", () => {
  expect(messagesIn(policy("istio-system/p", {}), codes)).toEqual([]);
  expect(placesIn(policy("istio-system/p", selecting({ app: "cart" })), codes)).toEqual([
    "IST0127 AuthorizationPolicy istio-system/p 1",
  ]);
  expect(
    messagesIn(policy("istio-system/p", selecting({ app: "cart" })) + pod("shop/cart", { app: "cart" }, proxy), codes),
  ).toEqual([]);
  const meshConfig = { file: "mesh.yaml", text: "rootNamespace: root" };
  expect(messagesIn(policy("root/p", {}), codes, { meshConfig })).toEqual([]);
});

test("the namespaces of sources must exist", () => {
  const text = `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: p, namespace: istio-system}
spec:
  rules:
  - from:
    - {}
    - source:
        namespaces:
        - shop
        - shpo
        - "sh*"
        - "x*"
        notNamespaces:
        - "*op"
        - SHOP
        - "*"
        - "*x"
---
`;
  expect(messagesIn(text + namespace("shop"), codes)).toEqual([
    'IST0101 AuthorizationPolicy istio-system/p 11: referenced namespace "shpo" not found; did you mean "shop"?',
    'IST0101 AuthorizationPolicy istio-system/p 13: referenced namespace "x*" not found',
    'IST0101 AuthorizationPolicy istio-system/p 18: referenced namespace "*x" not found',
  ]);
});
