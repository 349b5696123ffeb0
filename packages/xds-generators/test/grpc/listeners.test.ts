import { expect, it } from "vitest";
import { listenerType, type ResourceSet } from "@istiod/resources";
import { generators } from "../../src/index.js";
import { cart, cartRoutes, grpcClient, meshOf } from "./grpc-client.js";

const routesOf = (listener: { apiListener?: { apiListener: { rds: { routeConfigName: string } } } } | undefined) =>
  listener?.apiListener?.apiListener.rds.routeConfigName;

const authority = `
apiVersion: v1
kind: Service
metadata: {name: two, namespace: shop}
spec: {clusterIP: 10.96.0.2, ports: [{name: grpc, port: 80}, {name: grpc-b, port: 81}]}
`;

it("a client finds a service by every name that its DNS would complete", () => {
  const client = grpcClient(meshOf(cart));
  for (const name of ["cart.shop.svc.cluster.local:80", "cart:80", "cart.shop:80", "cart.shop.svc:80"]) {
    const listener = client.get("lds", name);
    expect(listener).toMatchObject({ name, address: { socketAddress: { address: "10.96.0.1", portValue: 80 } } });
    expect(routesOf(listener)).toBe(cartRoutes);
  }
  expect(grpcClient(meshOf(cart), { namespace: "other" }).get("lds", "cart:80")).toBeUndefined();
});

it("a target may be spelled with capitals, and end with a dot if it is the whole name", () => {
  const client = grpcClient(meshOf(cart));
  for (const name of ["Cart:80", "CART.Shop.svc.cluster.LOCAL:80", "cart.shop.svc.cluster.local.:80", "Cart"])
    expect(client.get("lds", name), name).toMatchObject({ name });
  expect(routesOf(client.get("lds", "cart.shop.svc.cluster.local.:80"))).toBe(cartRoutes);
  for (const name of ["cart.:80", "cart.shop.:80", "cart.shop.svc.cluster.local..:80", ".:80"])
    expect(client.get("lds", name), name).toBeUndefined();
});

it("the filters are fault and router, in this order", () => {
  const { httpFilters } = grpcClient(meshOf(cart)).get("lds", "cart:80").apiListener.apiListener;
  expect(httpFilters.map(({ name }: { name: string }) => name)).toEqual([
    "envoy.filters.http.fault",
    "envoy.filters.http.router",
  ]);
});

it("a target without a port is that of a service with one port, under the requested name", () => {
  const client = grpcClient(meshOf(cart, authority));
  expect(client.get("lds", "cart")).toMatchObject({ name: "cart" });
  expect(routesOf(client.get("lds", "cart"))).toBe(cartRoutes);
  expect(client.get("lds", "two")).toBeUndefined();
});

it("there is no listener for another port, an unknown service or a malformed name", () => {
  const client = grpcClient(meshOf(cart));
  for (const name of ["cart:81", "absent:80", "", ":80", "cart:", "cart:x", "[::1", "a:b:c", "cart:123456"])
    expect(client.get("lds", name), name).toBeUndefined();
});

it("Node, which needs what it names, has a listener and routes before the service exists", () => {
  const mesh = meshOf(cart);
  const client = grpcClient(mesh, { userAgent: "node" });
  const name = "outbound|80||later.shop.svc.cluster.local";
  expect(routesOf(client.get("lds", "later:80"))).toBe(name);
  const any = { name: "any", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: name } }] };
  expect(client.get("rds", name)).toEqual({ name, virtualHosts: [any] });
  mesh.apply(cart.replaceAll("cart", "later"));
  expect(routesOf(client.get("lds", "later:80"))).toBe(name);
  expect(client.get("rds", name).virtualHosts.map((host: { name: string }) => host.name)).toEqual([
    "later.shop.svc.cluster.local:80",
    "any",
  ]);
});

it("a Sidecar and exportTo limit the services of a client", () => {
  const hidden = `
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: default, namespace: shop}
spec: {egress: [{hosts: ["other/*"]}]}
`;
  expect(grpcClient(meshOf(cart, hidden)).get("lds", "cart:80")).toBeUndefined();
  const own = cart.replace("namespace: shop}", 'namespace: shop, annotations: {networking.istio.io/exportTo: "."}}');
  expect(grpcClient(meshOf(own)).get("lds", "cart.shop:80")).toBeDefined();
  const name = "cart.shop.svc.cluster.local:80";
  expect(grpcClient(meshOf(own), { namespace: "other" }).get("lds", name)).toBeUndefined();
});

it("a client that names none gets those of all services", () => {
  const { view } = grpcClient(meshOf(cart, authority));
  const set = view.call(generators[listenerType] as never) as ResourceSet;
  expect([...set].map(({ name }) => name).sort()).toEqual([
    "cart.shop.svc.cluster.local:80",
    "two.shop.svc.cluster.local:80",
    "two.shop.svc.cluster.local:81",
  ]);
});
