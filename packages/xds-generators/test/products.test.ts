import { productBounds } from "@istiod/config-schema";
import { describe, expect, test } from "vitest";
import { fromBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { routeType } from "@istiod/resources";
import { lookups, omissions } from "../src/index.js";
import { clusterType, TestMesh, type TestProxy } from "./mesh.js";

const list = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join(", ");

const entry = (ports: number): string => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart.example.com]
  ports: [${list(ports, (i) => `{number: ${i + 1}, name: http-${i}, protocol: HTTP}`)}]
  resolution: STATIC
  endpoints: [{address: 10.2.0.1}]
`;
const rule = (subsets: number, policy = "{loadBalancer: {simple: RANDOM}}"): string => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: cart, namespace: shop}
spec:
  host: cart.example.com
  trafficPolicy: ${policy}
  subsets: [${list(subsets, (i) => `{name: s${i}, labels: {version: v${i}}}`)}]
`;

const outbound = (proxy: TestProxy): readonly string[] =>
  proxy.names(clusterType).filter((name) => name.startsWith("outbound|"));

describe("subsets of a service with many ports", () => {
  test("have clusters up to the bound, and the last are left out and reported", () => {
    const mesh = new TestMesh(`${entry(10)}---${rule(30)}`).set(productBounds.clusters.variable, "310");
    const proxy = mesh.proxy();
    expect(outbound(proxy)).toHaveLength(310);
    expect(proxy.view.call(omissions).listenerConflicts).toEqual([]);
    mesh.apply(rule(31));
    expect(outbound(proxy)).toHaveLength(310);
    expect(outbound(proxy)).toContain("outbound|10|s29|cart.example.com");
    expect(outbound(proxy)).not.toContain("outbound|1|s30|cart.example.com");
    expect(proxy.names("envoy.config.endpoint.v3.ClusterLoadAssignment")).not.toContain(
      "outbound|1|s30|cart.example.com",
    );
    expect(proxy.view.call(omissions).listenerConflicts).toEqual([
      {
        bind: "",
        ignored: { kind: "subset", rule: "shop/cart", index: 30 },
        reason:
          "with all later subsets: for cart.example.com, 10 ports × 32 subsets and the service itself = 320 clusters, of at most 310 (ISTIOD_MAX_CLUSTERS_OF_SERVICE)",
      },
    ]);
  });

  test("are bounded by default: 256 ports × 2,000 subsets", { timeout: 60_000 }, () => {
    const proxy = new TestMesh(`${entry(256)}---${rule(2000)}`).proxy();
    const count = outbound(proxy).length;
    expect(count).toBeLessThanOrEqual(5000);
    expect(count).toBeGreaterThan(5000 - 256);
  });

  test("are bounded by the bytes of their policies", () => {
    const names = list(100, (i) => `spiffe://cluster.local/ns/shop/sa/name-${i}`);
    const mesh = new TestMesh(`${entry(10)}---${rule(40, `{tls: {mode: SIMPLE, subjectAltNames: [${names}]}}`)}`);
    const proxy = mesh.proxy();
    expect(outbound(proxy)).toHaveLength(410);
    mesh.set(productBounds.bytes.variable, "1000000");
    expect(outbound(proxy).length).toBeLessThan(410);
    expect(proxy.view.call(omissions).listenerConflicts[0]?.reason).toContain(
      "10 ports × the policies of 40 subsets are more than 1000000 bytes (ISTIOD_MAX_COPIED_BYTES_OF_OBJECT)",
    );
  });
});

describe("subsets of a rule with a wildcard host", () => {
  const hosts = (count: number, namespace = "shop"): string => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${namespace}, namespace: ${namespace}}
spec:
  hosts: [${list(count, (i) => `h${i}.${namespace}.example.com`)}]
  ports: [{number: 80, name: http, protocol: HTTP}, {number: 81, name: http-1, protocol: HTTP}]
  resolution: STATIC
  endpoints: [{address: 10.2.0.1}]
`;
  const wildcard = (subsets: number, host = "*.example.com", namespace = "shop"): string => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: all, namespace: ${namespace}}
spec:
  host: "${host}"
  subsets: [${list(subsets, (i) => `{name: s${i}, labels: {version: v${i}}}`)}]
`;
  const { ruleClusters } = productBounds;

  test("multiply with all services that it covers, up to the bound", () => {
    const mesh = new TestMesh(`${hosts(10)}---${wildcard(20)}`).set(ruleClusters.variable, "400");
    const proxy = mesh.proxy();
    expect(outbound(proxy)).toHaveLength(10 * 2 * 21);
    mesh.apply(wildcard(21));
    expect(outbound(proxy)).toHaveLength(10 * 2 * 21);
    expect(outbound(proxy)).not.toContain("outbound|80|s20|h0.shop.example.com");
    expect(proxy.names("envoy.config.endpoint.v3.ClusterLoadAssignment")).toHaveLength(outbound(proxy).length);
    const [omitted] = proxy.view.call(omissions).listenerConflicts;
    expect(omitted?.ignored).toEqual({ kind: "subset", rule: "shop/all", index: 20 });
    expect(omitted?.reason).toContain(
      "the 21 subsets of *.example.com at all ports of its services are more than 400 clusters (ISTIOD_MAX_CLUSTERS_OF_DESTINATION_RULE)",
    );
  });

  test("are not fewer because of services of another namespace", () => {
    const mesh = new TestMesh(`${hosts(10)}---${wildcard(20)}`).set(ruleClusters.variable, "400");
    const proxy = mesh.proxy();
    mesh.apply(hosts(250, "other"));
    expect(outbound(proxy).filter((name) => name.endsWith(".shop.example.com"))).toHaveLength(10 * 2 * 21);
  });

  test("stay if they are few, whatever the number of services", () => {
    const mesh = new TestMesh(`${hosts(200)}---${wildcard(16)}`).set(ruleClusters.variable, "400");
    expect(outbound(mesh.proxy())).toHaveLength(200 * 2 * 17);
  });

  test("are bounded by default: 250 hosts × 2 ports × 2,000 subsets", { timeout: 120_000 }, () => {
    const count = outbound(new TestMesh(`${hosts(250)}---${wildcard(2000)}`).proxy()).length;
    expect(count).toBe(250 * 2 * 201);
  });
});

test("routes of a delegate that multiply with the root's hosts are left out from the last", () => {
  const root = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: root, namespace: shop}
spec:
  hosts: [${list(10, (i) => `h${i}.example.com`)}]
  http: [{match: [{uri: {prefix: /}}], delegate: {name: delegate}}]
`;
  const delegate = (routes: number): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: delegate, namespace: shop}
spec:
  http: [${list(routes, (i) => `{match: [{uri: {prefix: /${i}/}}], route: [{destination: {host: cart.example.com}}]}`)}]
`;
  const mesh = new TestMesh(`${entry(80)}---${root}---${delegate(5)}`).set(productBounds.routes.variable, "50");
  const proxy = mesh.proxy();
  const routes = (): number | undefined =>
    proxy
      .json("envoy.config.route.v3.RouteConfiguration", "80")
      .virtualHosts.find(({ name }: { name: string }) => name === "h0.example.com:80")?.routes.length;
  expect(routes()).toBe(5);
  mesh.apply(delegate(6));
  expect(routes()).toBe(5);
});

/** Returns the number of routes of a route configuration. */
function routesAt(proxy: TestProxy, name: string): number {
  const found = proxy.view.call(lookups[routeType]!, name);
  return fromBinary(RouteConfigurationSchema, found!.bytes).virtualHosts.reduce(
    (sum, { routes }) => sum + routes.length,
    0,
  );
}

describe("routes of a VirtualService at a Gateway with many servers", () => {
  const gateway = (servers: number, hosts = (_: number): string => "*"): string => `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  selector: {istio: ingress}
  servers: [${list(servers, (i) => `{port: {number: ${1000 + i}, name: http-${i}, protocol: HTTP}, hosts: ["${hosts(i)}"]}`)}]
`;
  const routes = (hosts: number, matches: number): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: routes, namespace: shop}
spec:
  hosts: [${list(hosts, (i) => `h${i}.example.com`)}]
  gateways: [edge]
  http: [${list(matches, (i) => `{match: [{uri: {prefix: /${i}/}}], route: [{destination: {host: cart.example.com}}]}`)}]
`;
  const counts = (proxy: TestProxy, servers: number): readonly number[] =>
    Array.from({ length: servers }, (_, i) => routesAt(proxy, `http.${1000 + i}`));
  const router = (mesh: TestMesh): TestProxy => mesh.proxy({ type: "router", labels: { istio: "ingress" } });

  test("are at the first servers within the bound, and the others are reported", () => {
    const mesh = new TestMesh(`${gateway(8)}---${routes(2, 5)}---${entry(1)}`)
      .set(productBounds.routes.variable, "10")
      .set(productBounds.gatewayRoutes.variable, "60");
    const proxy = router(mesh);
    // Hosts with the same routes share a virtual host, unless another VirtualService has one of them.
    expect(counts(proxy, 8)).toEqual([5, 5, 5, 5, 5, 5, 0, 0]);
    expect(proxy.view.call(omissions).listenerConflicts).toEqual([
      {
        bind: "",
        ignored: { kind: "route", virtualService: "shop/routes", field: "spec.http" },
        reason:
          "at servers[6] of Gateway shop/edge and those after it: 70 routes at the first 7 servers of Gateway shop/edge, of at most 60 (ISTIOD_MAX_GATEWAY_ROUTES_OF_VIRTUAL_SERVICE)",
      },
    ]);
    mesh.set(productBounds.gatewayRoutes.variable, "80");
    expect(counts(proxy, 8)).toEqual(Array.from({ length: 8 }, () => 5));
    expect(proxy.view.call(omissions).listenerConflicts).toEqual([]);
  });

  test("are bounded by their bytes as well", () => {
    const mesh = new TestMesh(`${gateway(8)}---${routes(2, 5)}---${entry(1)}`)
      .set(productBounds.bytes.variable, "500")
      .set(productBounds.gatewayBytes.variable, "1500");
    const proxy = router(mesh);
    const served = counts(proxy, 8).filter((count) => count > 0).length;
    expect(served).toBeGreaterThanOrEqual(3);
    expect(served).toBeLessThan(8);
    expect(proxy.view.call(omissions).listenerConflicts[0]?.reason).toMatch(
      new RegExp(
        `^at servers\\[${served}\\] .*: \\d+ bytes of routes at the first ${served + 1} servers of Gateway shop/edge, of at most 1500 \\(ISTIOD_MAX_GATEWAY_BYTES_OF_VIRTUAL_SERVICE\\)$`,
      ),
    );
  });

  test("count only for the hosts that a server shares", () => {
    const mesh = new TestMesh(`${gateway(8, (i) => `h${i}.example.com`)}---${routes(8, 5)}---${entry(1)}`)
      .set(productBounds.routes.variable, "40")
      .set(productBounds.gatewayRoutes.variable, "40");
    const proxy = router(mesh);
    expect(counts(proxy, 8)).toEqual(Array.from({ length: 8 }, () => 5));
    expect(proxy.view.call(omissions).listenerConflicts).toEqual([]);
  });
});

describe("the policy of a rule", () => {
  const { rulePolicyBytes } = productBounds;
  const names = (count: number): string =>
    `{tls: {mode: SIMPLE, subjectAltNames: [${list(count, (i) => `spiffe://cluster.local/ns/shop/sa/name-${i}`)}]}}`;
  const wildcard = (policy: string, namespace = "shop"): string => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: all, namespace: ${namespace}}
spec: {host: "*.example.com", trafficPolicy: ${policy}}
`;
  const other = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: other, namespace: other}
spec:
  hosts: [other.example.com]
  ports: [{number: 80, name: http, protocol: HTTP}]
  resolution: STATIC
  endpoints: [{address: 10.2.0.2}]
`;

  test("too large for all ports of a service leaves it without clusters, so that no request lacks it", () => {
    const mesh = new TestMesh(`${entry(10)}---${rule(2, names(200))}---${other}`).set(
      rulePolicyBytes.variable,
      "100000",
    );
    const proxy = mesh.proxy();
    expect(outbound(proxy)).toHaveLength(10 * 3 + 1);
    mesh.apply(rule(2, names(300)));
    expect(outbound(proxy)).toEqual(["outbound|80||other.example.com"]);
    expect(proxy.names("envoy.config.endpoint.v3.ClusterLoadAssignment")).toEqual(outbound(proxy));
    const [omitted] = proxy.view.call(omissions).listenerConflicts;
    expect(omitted?.ignored).toEqual({ kind: "policy", object: "DestinationRule", policy: "shop/cart" });
    expect(omitted?.reason).toMatch(
      /^with the clusters of cart.example.com: 10 ports × \d+ bytes of policies = \d+ bytes, of at most 100000 \(ISTIOD_MAX_POLICY_BYTES_OF_DESTINATION_RULE\)$/,
    );
    mesh.apply(rule(2, names(3)));
    expect(outbound(proxy)).toHaveLength(10 * 3 + 1);
  });

  test("multiplies with all services of a wildcard host, and those of its namespace count for themselves", () => {
    const mesh = new TestMesh(`${entry(10)}---${other}---${wildcard(names(200))}`).set(
      rulePolicyBytes.variable,
      "120000",
    );
    const proxy = mesh.proxy();
    expect(outbound(proxy)).toHaveLength(11);
    mesh.apply(
      other.replace(
        "[{number",
        `[${list(20, (i) => `{number: ${i + 100}, name: http-${i}, protocol: HTTP}`)}, {number`,
      ),
    );
    expect(outbound(proxy)).toHaveLength(10);
    expect(outbound(mesh.proxy({ namespace: "other" }))).toHaveLength(31);
  });

  test("of a few kilobytes is never too large", () => {
    const mesh = new TestMesh(`${entry(10)}---${rule(2, names(80))}`).set(rulePolicyBytes.variable, "1");
    expect(outbound(mesh.proxy())).toHaveLength(10 * 3);
  });

  test("is bounded by default: 256 ports × 600 KB", () => {
    expect(rulePolicyBytes.default).toBeLessThan(256 * 600_000);
    // A hundredth of the bound and of the policy.
    const mesh = new TestMesh(`${entry(256)}---${rule(0, names(140))}`);
    mesh.set(rulePolicyBytes.variable, String(Math.floor(rulePolicyBytes.default / 100)));
    expect(outbound(mesh.proxy())).toEqual([]);
  });
});
