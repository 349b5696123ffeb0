import {
  backendTlsPolicies,
  type BackendTlsPolicyObject,
  type HttpRouteObject,
  httpRoutes,
  kubernetesGateways,
  type KubernetesGatewayObject,
  services,
} from "@istiod/config-schema";
import { YamlMesh } from "@istiod/config-schema/testing";
import {
  attachedRoutes,
  backendPolicyRules,
  gatewayApiVirtualService,
  gatewayApiVirtualServiceKeys,
  routeStatus,
} from "@istiod/gateway-api";
import type { View } from "@istiod/incremental";
import { describe, expect, test } from "vitest";
import { servicesOf } from "./route-mesh.js";

const base = { labels: {}, annotations: {}, cluster: "Kubernetes", creationTimestamp: 0 };

function gatewayObject(name: string): KubernetesGatewayObject {
  return {
    ...base,
    kind: "Gateway",
    namespace: "shop",
    name,
    spec: { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }], addresses: [] },
  };
}

/** A route `name` of one host at a gateway, whose rule has a path. */
function routeObject(name: string, gateway: string, host: string, path: string): HttpRouteObject {
  const match = { path: { type: "PathPrefix" as const, value: path }, headers: [], queryParams: [] };
  return {
    ...base,
    kind: "HTTPRoute",
    namespace: "shop",
    name,
    spec: {
      parentRefs: [{ name: gateway }],
      hostnames: [host],
      rules: [{ matches: [match], filters: [], backendRefs: [{ name: "cart", port: 80, weight: 1, filters: [] }] }],
    },
  };
}

/** Asks for everything that a control plane asks for: VirtualServices, statuses of routes and counts of Gateways. */
function evaluate(view: View<unknown>, routes: readonly string[], gateways: readonly string[]): void {
  for (const key of view.call(gatewayApiVirtualServiceKeys)) view.call(gatewayApiVirtualService, key);
  for (const key of routes) view.call(routeStatus, { kind: "HTTPRoute", key });
  for (const name of gateways) view.call(attachedRoutes, { kind: "Gateway", namespace: "shop", name });
}

describe.each([
  { of: "10 routes on each of 500 gateways", gateways: 500, routes: 5000 },
  { of: "1,000 routes on one gateway", gateways: 1, routes: 1000 },
])("of $of", ({ gateways, routes }) => {
  const gatewayNames = Array.from({ length: gateways }, (_, i) => `gateway-${i}`);
  const names = Array.from({ length: routes }, (_, i) => `route-${i}`);
  const routeOf = (i: number, path: string, host = `host-${i}.example`): HttpRouteObject =>
    routeObject(`route-${i}`, `gateway-${i % gateways}`, host, path);
  const mesh = new YamlMesh<unknown>(servicesOf("shop/cart"));
  mesh.db.commit((tx) => {
    for (const name of gatewayNames) tx.set(kubernetesGateways, `shop/${name}`, gatewayObject(name));
    for (const [i, name] of names.entries()) tx.set(httpRoutes, `shop/${name}`, routeOf(i, "/"));
  });
  const view = mesh.db.view(undefined);
  const keys = names.map((name) => `shop/${name}`);
  /** Returns the number of queries that a commit recomputes. */
  const costOf = (commit: () => void): number => {
    evaluate(view, keys, gatewayNames);
    const { recomputations } = mesh.db.stats();
    commit();
    evaluate(view, keys, gatewayNames);
    return mesh.db.stats().recomputations - recomputations;
  };

  test("all routes have their VirtualService and status", () => {
    expect(view.call(gatewayApiVirtualServiceKeys)).toHaveLength(routes);
    expect(view.call(routeStatus, { kind: "HTTPRoute", key: "shop/route-7" })?.parents).toHaveLength(1);
    expect(view.call(attachedRoutes, { kind: "Gateway", namespace: "shop", name: "gateway-0" })).toEqual({
      http: routes / gateways,
    });
  });

  test("an edit of a rule recomputes its own queries only", () => {
    const edit = (): void => void mesh.db.commit((tx) => tx.set(httpRoutes, "shop/route-7", routeOf(7, "/edited")));
    expect(costOf(edit)).toBeLessThan(12);
  });

  test("a new host recomputes the list and its own queries", () => {
    const edit = (): void =>
      void mesh.db.commit((tx) => tx.set(httpRoutes, "shop/route-7", routeOf(7, "/edited", "new.example")));
    expect(costOf(edit)).toBeLessThan(16);
  });

  test("another Service recomputes nothing", () => {
    const service = mesh.db.read(services, "Kubernetes/shop/cart");
    if (service === undefined) throw new Error("no Service");
    const add = (): void =>
      void mesh.db.commit((tx) => tx.set(services, "Kubernetes/shop/other", { ...service, name: "other" }));
    expect(costOf(add)).toBe(0);
  });
});

test("an edit of one of 5,000 policies of backends recomputes only what concerns its target", () => {
  const names = Array.from({ length: 5_000 }, (_, i) => `backend-${i}`);
  const mesh = new YamlMesh<unknown>(servicesOf("shop/backend-0"));
  const service = mesh.db.read(services, "Kubernetes/shop/backend-0");
  if (service === undefined) throw new Error("no Service");
  const policyOf = (name: string, hostname: string): BackendTlsPolicyObject => ({
    kind: "BackendTLSPolicy",
    namespace: "shop",
    name,
    labels: {},
    annotations: {},
    creationTimestamp: 0,
    cluster: "Kubernetes",
    spec: {
      targetRefs: [{ group: "", kind: "Service", name }],
      validation: { hostname, wellKnownCACertificates: "System", caCertificateRefs: [], subjectAltNames: [] },
    },
  });
  mesh.db.commit((tx) => {
    for (const name of names) {
      tx.set(services, `Kubernetes/shop/${name}`, { ...service, name });
      tx.set(backendTlsPolicies, `shop/${name}`, policyOf(name, "a.example"));
    }
  });
  const view = mesh.db.view(undefined);
  const evaluateRules = (): readonly (string | undefined)[] =>
    names.map(
      (name) => view.call(backendPolicyRules, `${name}.shop.svc.cluster.local`)[0]?.spec.trafficPolicy?.tls?.sni,
    );
  expect(evaluateRules()).toEqual(names.map(() => "a.example"));
  const costOf = (commit: () => void): number => {
    const { recomputations } = mesh.db.stats();
    commit();
    evaluateRules();
    return mesh.db.stats().recomputations - recomputations;
  };
  const edit = (): void =>
    void mesh.db.commit((tx) => tx.set(backendTlsPolicies, "shop/backend-7", policyOf("backend-7", "b.example")));
  expect(costOf(edit)).toBeLessThan(8);
  expect(evaluateRules()[7]).toBe("b.example");
  expect(costOf(() => void mesh.db.commit((tx) => tx.delete(backendTlsPolicies, "shop/backend-8")))).toBeLessThan(8);
  expect(evaluateRules()[8]).toBeUndefined();
});

test("10,000 routes of one host are one VirtualService, of which an edit converts one route", () => {
  const mesh = new YamlMesh<unknown>(servicesOf("shop/cart"));
  const routeOf = (i: number, path: string): HttpRouteObject => routeObject(`route-${i}`, "front", "a.example", path);
  mesh.db.commit((tx) => {
    tx.set(kubernetesGateways, "shop/front", gatewayObject("front"));
    for (let i = 0; i < 10_000; i++) tx.set(httpRoutes, `shop/route-${i}`, routeOf(i, `/${i}`));
  });
  const view = mesh.db.view(undefined);
  const only = (): number | undefined => {
    const [key = ""] = view.call(gatewayApiVirtualServiceKeys);
    return view.call(gatewayApiVirtualService, key)?.spec.http.length;
  };
  expect(only()).toBe(10_000);
  const { recomputations } = mesh.db.stats();
  mesh.db.commit((tx) => tx.set(httpRoutes, "shop/route-7", routeOf(7, "/edited")));
  expect(only()).toBe(10_000);
  expect(mesh.db.stats().recomputations - recomputations).toBeLessThan(10);
});
