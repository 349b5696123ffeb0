import { describe, expect, test } from "vitest";
import { gatewayApi, RouteMesh, servicesOf } from "./route-mesh.js";

const services = servicesOf("shop/cart", "shop/old", "bank/ledger");
const entry = `---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: outside, namespace: shop}
spec: {hosts: [a.example, b.example], resolution: DNS, ports: [{name: http, number: 80, protocol: HTTP}]}
`;
const toOld = "rules: [{backendRefs: [{name: old, port: 80}]}]";
const parent = (name: string, more = ""): string => `{group: '', kind: Service, name: ${name}${more && `, ${more}`}}`;
const route = (kind: string, key: string, parentRefs: string, more = toOld): string =>
  gatewayApi(kind, key, `{parentRefs: [${parentRefs}], ${more}}`);
const old = { destination: { host: "old.shop.svc.cluster.local", port: { number: 80 } } };

describe("HTTPRoutes of a service", () => {
  test("apply to all of its ports, or to one", () => {
    const mesh = new RouteMesh(services);
    mesh.apply(
      route("HTTPRoute", "shop/all", parent("cart")) + route("HTTPRoute", "shop/one", parent("cart", "port: 80")),
    );
    const match = [{ uri: { prefix: "/" } }];
    expect(mesh.virtualServices()).toEqual({
      "shop/shop~cart.shop.svc.cluster.local": {
        hosts: ["cart.shop.svc.cluster.local"],
        gateways: ["mesh"],
        http: [{ name: "shop.all.0", match, route: [old] }],
      },
      "shop/shop~80~cart.shop.svc.cluster.local": {
        hosts: ["cart.shop.svc.cluster.local"],
        gateways: ["mesh"],
        http: [{ name: "shop.one.0", match: [{ uri: { prefix: "/" }, port: 80 }], route: [old] }],
      },
    });
  });

  test("of one namespace are merged, and those of its consumers stay apart", () => {
    const mesh = new RouteMesh(services);
    mesh.apply(
      route("HTTPRoute", "shop/a", parent("cart")) +
        route("HTTPRoute", "shop/b", parent("cart")) +
        route(
          "HTTPRoute",
          "bank/c",
          parent("cart", "namespace: shop"),
          "rules: [{backendRefs: [{name: ledger, port: 80}]}]",
        ),
    );
    const found = mesh.virtualServices();
    expect(Object.keys(found).sort()).toEqual([
      "bank/bank~cart.shop.svc.cluster.local",
      "shop/shop~cart.shop.svc.cluster.local",
    ]);
    expect(found["shop/shop~cart.shop.svc.cluster.local"]?.http?.map(({ name }) => name)).toEqual([
      "shop.a.0",
      "shop.b.0",
    ]);
  });

  test("need no grant for backends of other namespaces", () => {
    const mesh = new RouteMesh(services);
    const rules = "rules: [{backendRefs: [{name: ledger, namespace: bank, port: 80}]}]";
    mesh.apply(route("HTTPRoute", "shop/a", parent("cart"), rules));
    expect(mesh.statuses("HTTPRoute", "shop/a")[0]?.["ResolvedRefs"]).toBe(
      "True ResolvedRefs: All references resolved",
    );
  });

  test("say what has no effect: hostnames, and a port that the service does not have", () => {
    const mesh = new RouteMesh(services);
    mesh.apply(route("HTTPRoute", "shop/a", parent("cart", "port: 81"), `hostnames: [a.example], ${toOld}`));
    expect(mesh.statuses("HTTPRoute", "shop/a")[0]?.["Accepted"]).toBe(
      "True Accepted: Route was valid; hostnames have no effect on parents in the mesh, whose own hosts apply; Service shop/cart has no port 81",
    );
  });
});

test("routes of a ServiceEntry say that its hosts with wildcards are not routed", () => {
  const accepted = (kind: string, hosts: string): unknown => {
    const mesh = new RouteMesh(services + entry.replace("a.example, b.example", hosts).replace("DNS", "NONE"));
    mesh.apply(route(kind, "shop/a", "{group: networking.istio.io, kind: ServiceEntry, name: outside}"));
    return mesh.statuses(kind as "HTTPRoute", "shop/a")[0]?.["Accepted"];
  };
  const wildcard = "no effect on *.example: sidecars do not route hosts with wildcards";
  expect(accepted("HTTPRoute", "'*.example'")).toBe(`True Accepted: Route was valid; ${wildcard}`);
  expect(accepted("GRPCRoute", "a.example, '*.example'")).toBe(`True Accepted: Route was valid; ${wildcard}`);
  expect(accepted("HTTPRoute", "a.example")).toBe("True Accepted: Route was valid");
});

test("routes of a ServiceEntry apply to each of its hosts", () => {
  const mesh = new RouteMesh(services + entry);
  mesh.apply(route("HTTPRoute", "shop/a", "{group: networking.istio.io, kind: ServiceEntry, name: outside}"));
  expect(Object.keys(mesh.virtualServices()).sort()).toEqual(["shop/shop~a.example", "shop/shop~b.example"]);
  mesh.apply(entry.replace("a.example, ", ""));
  expect(Object.keys(mesh.virtualServices())).toEqual(["shop/shop~b.example"]);
});

describe("TCPRoutes and TLSRoutes in the mesh", () => {
  test("match the port and the names of their parent", () => {
    const mesh = new RouteMesh(services);
    mesh.apply(route("TCPRoute", "shop/t", parent("cart", "port: 80")) + route("TLSRoute", "shop/s", parent("cart")));
    const host = "cart.shop.svc.cluster.local";
    expect(mesh.virtualServices()).toEqual({
      "shop/t~tcp~0~istio-autogenerated-k8s-gateway": {
        hosts: [host],
        gateways: ["mesh"],
        tcp: [{ match: [{ port: 80 }], route: [old] }],
      },
      "shop/s~tls~0~istio-autogenerated-k8s-gateway": {
        hosts: [host],
        gateways: ["mesh"],
        tls: [{ match: [{ sniHosts: [host] }], route: [old] }],
      },
    });
  });

  test("a TLSRoute with several names matches those that belong to each host", () => {
    const mesh = new RouteMesh(services + entry);
    mesh.apply(
      route(
        "TLSRoute",
        "shop/s",
        "{group: networking.istio.io, kind: ServiceEntry, name: outside}",
        `hostnames: [a.example, b.example], ${toOld}`,
      ),
    );
    const sni = Object.values(mesh.virtualServices()).map((found) => [
      found.hosts,
      (found as unknown as { tls: { match: { sniHosts: string[] }[] }[] }).tls[0]?.match[0]?.sniHosts,
    ]);
    expect(sni).toEqual([
      [["a.example"], ["a.example"]],
      [["b.example"], ["b.example"]],
    ]);
  });
});

describe("with ambient mode", () => {
  const waypoints = (labels: string, foreign = false): RouteMesh => {
    const mesh = new RouteMesh(services).set("PILOT_ENABLE_AMBIENT", "true");
    const cart = `---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop, labels: ${labels}}
spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: some-waypoint}
spec: {controllerName: ${foreign ? "example.com/waypoints" : "istio.io/mesh-controller"}}
`;
    mesh.apply(
      cart +
        gatewayApi(
          "Gateway",
          "shop/way",
          "{gatewayClassName: some-waypoint, listeners: [{name: mesh, port: 15008, protocol: HBONE}]}",
        ),
    );
    return mesh.apply(route("HTTPRoute", "shop/a", parent("cart")));
  };

  test.each([
    ["{}", "True ResolvedWaypoints: istio.io/use-waypoint label missing from parent and parent namespace"],
    ["{istio.io/use-waypoint: none}", "True ResolvedWaypoints: istio.io/use-waypoint label missing"],
    ["{istio.io/use-waypoint: way}", "True ResolvedWaypoints: All waypoints resolved"],
  ])("a service with the labels %s: %s", (labels, expected) => {
    expect(waypoints(labels).statuses("HTTPRoute", "shop/a")[0]?.["ResolvedWaypoints"]).toContain(expected);
  });

  test("routes of a service whose waypoint another controller serves are left to it", () => {
    const mesh = waypoints("{istio.io/use-waypoint: way}", true);
    expect(mesh.statuses("HTTPRoute", "shop/a")).toEqual([]);
    expect(mesh.virtualServices()).toEqual({});
  });
});
