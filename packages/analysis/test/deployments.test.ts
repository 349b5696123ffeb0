import { analyzeTexts } from "@istiod/analysis";
import { describe, expect, it, test } from "vitest";
import { messagesOf, placesOf } from "./messages-of.js";

const deployment = (spec: string, labels = "", name = "cart"): string =>
  `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  namespace: shop
  labels: {${labels}}
spec:
  template:
    metadata:
      labels: {app: cart, tier: web}
    spec: ${spec}
---
`;

const injected = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n---\n";

const service = (name: string, ports: string, selector = "{app: cart}", namespace = "shop"): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: {selector: ${selector}, ports: [${ports}]}\n---\n`;

const app = "{containers: [{name: app, image: app}]}";

describe("services of a deployment", () => {
  const services = "deployment.MultiServiceAnalyzer";

  it("must not use one port with different protocols", () => {
    const tcp = service("a", "{port: 53, protocol: TCP}");
    const udp = service("b", "{port: 53, protocol: UDP}");
    expect(messagesOf(services, deployment(app) + injected + tcp + udp)).toEqual([
      "IST0116 Deployment shop/cart 4: Deployment cart is associated with services that use port 53 with different protocols (TCP, UDP): a, b; use another port for one of the protocols",
    ]);
  });

  it("must not map different ports to one target port", () => {
    const both = service("a", "{port: 80, targetPort: 8080}") + service("b", "{port: 8080}", "{app: cart, tier: web}");
    expect(messagesOf(services, deployment(app) + injected + both)).toEqual([
      "IST0137 Deployment shop/cart 4: Deployment cart has conflicting ports: services a, b lead different ports (80, 8080) to target port 8080; use one port for it, or a target port for each",
    ]);
  });

  it("are the services of its namespace that select it", () => {
    const tcp = service("a", "{port: 53, protocol: TCP}");
    const others = ["{app: other}", "{app: cart, tier: db}", "{}"].map((selector, i) =>
      service(`o${i}`, "{port: 53, protocol: UDP}", selector),
    );
    const elsewhere = service("b", "{port: 53, protocol: UDP}", "{app: cart}", "other");
    expect(placesOf(services, deployment(app) + injected + tcp + others.join("") + elsewhere)).toEqual([]);
  });

  it("are ignored for workloads outside the mesh and for waypoints", () => {
    const both = service("a", "{port: 53, protocol: TCP}, {port: 53, protocol: UDP}");
    expect(placesOf(services, deployment(app) + both)).toEqual([]);
    expect(
      placesOf(services, deployment(app, "gateway.istio.io/managed: istio.io-mesh-controller") + injected + both),
    ).toEqual([]);
    expect(placesOf(services, deployment("{containers: [{name: istio-proxy, image: proxy}]}") + both)).toEqual([
      "IST0116 Deployment shop/cart 4",
    ]);
    const optedOut = deployment(app).replace("tier: web", 'sidecar.istio.io/inject: "false"');
    expect(placesOf(services, optedOut + injected + both)).toEqual([]);
  });
});

describe("the user ID of an application", () => {
  const users = "applicationUID.Analyzer";

  it("must not be the proxy's user ID", () => {
    const spec =
      "{securityContext: {runAsUser: 1337}, containers: [{name: app, image: a}, {name: b, securityContext: {runAsUser: 1337}}]}";
    expect(messagesOf(users, deployment(spec)).map((message) => message.slice(0, 70))).toEqual([
      "IST0144 Deployment shop/cart 11: container b runs as user ID 1337, whi",
      "IST0144 Deployment shop/cart 11: the pod runs as user ID 1337, which i",
    ]);
    expect(
      placesOf(users, `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  securityContext:\n    runAsUser: 1337`),
    ).toEqual(["IST0144 Pod default/a 6"]);
  });

  it("may be the proxy's in Istio's containers, init containers and the control plane", () => {
    const user = "securityContext: {runAsUser: 1337}";
    const spec = `{containers: [{name: istio-proxy, ${user}}, {name: app, securityContext: {runAsUser: 1338}}], initContainers: [{name: x, ${user}}]}`;
    expect(placesOf(users, deployment(spec))).toEqual([]);
    expect(placesOf(users, deployment(`{${user}}`, "istio: pilot"))).toEqual([]);
  });
});

describe("JWKS", () => {
  const jwks = "authn.BlockedCIDRsAnalyzer";
  const policy =
    "apiVersion: security.istio.io/v1\nkind: RequestAuthentication\nmetadata: {name: jwt, namespace: shop}\nspec: {}\n---\n";
  const istiod = (env: string): string =>
    deployment(`{containers: [{name: discovery, env: [${env}]}]}`, "app: istiod", "istiod");

  it("are reported if they are fetched from restricted addresses", () => {
    expect(messagesOf(jwks, istiod("") + policy)).toEqual([
      "IST0175 Deployment shop/istiod 11: istiod fetches JWKS URIs of 1 RequestAuthentication(s) (shop/jwt) without restriction; set BLOCKED_CIDRS_IN_JWKS_URIS to the address ranges that it must not reach",
    ]);
    expect(placesOf(jwks, istiod("{name: BLOCKED_CIDRS_IN_JWKS_URIS}") + policy)).toEqual([
      "IST0175 Deployment shop/istiod 11",
    ]);
  });

  it("are ignored without RequestAuthentications", () => {
    expect(placesOf(jwks, istiod("{name: BLOCKED_CIDRS_IN_JWKS_URIS, value: 10.0.0.0/8}") + policy)).toEqual([]);
    expect(placesOf(jwks, istiod(""))).toEqual([]);
    expect(placesOf(jwks, deployment(app) + policy)).toEqual([]);
  });
});

test("a Rollout of Argo creates Pods as a Deployment does, and files for Kustomize are not objects", () => {
  const labels = { app: "web" };
  const rollout = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Rollout",
    metadata: { name: "web", namespace: "shop" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "a" }] } },
    },
  };
  const rule = {
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    metadata: { name: "web", namespace: "shop" },
    spec: { host: "web", subsets: [{ name: "stable", labels }] },
  };
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "shop" },
    spec: { selector: labels, ports: [{ name: "http", port: 80 }] },
  };
  const text = [rollout, rule, service].map((object) => JSON.stringify(object)).join("\n---\n");
  const files = [
    { file: "mesh/all.yaml", text },
    { file: "mesh/kustomization.yaml", text: "resources: [all.yaml]\n" },
  ];
  expect(analyzeTexts({ files }).messages).toEqual([]);
  const [fault] = analyzeTexts({ files: [{ file: "a.yaml", text: "resources: [all.yaml]\n" }] }).messages;
  expect(fault?.message).toContain("has neither apiVersion nor kind");
});
