import { expect, it } from "vitest";
import type { userAgents } from "./grpc-client.js";
import { cart, cartRoutes, grpcClient, meshOf, routes, rule } from "./grpc-client.js";
import type { Json } from "../mesh.js";

const to = (subset: string, weight = 100): string =>
  `{destination: {host: cart, subset: ${subset}}, weight: ${weight}}`;
const anywhere = "route: [{destination: {host: cart}}]";

/** The routes of cart with the HTTP routes of a VirtualService. */
function routesOf(http: string, userAgent: keyof typeof userAgents = "go"): Json[] {
  const found = grpcClient(meshOf(cart, rule(), routes(http)), { userAgent }).get("rds", cartRoutes);
  return found.virtualHosts[0].routes ?? [];
}

it("a service without a VirtualService has one route, and domains with and without its port", () => {
  const { name, virtualHosts } = grpcClient(meshOf(cart)).get("rds", cartRoutes);
  expect(name).toBe(cartRoutes);
  expect(virtualHosts).toHaveLength(1);
  expect(virtualHosts[0].domains).toEqual(
    expect.arrayContaining(["cart", "cart:80", "cart.shop:80", "cart.shop.svc.cluster.local:80", "10.96.0.1:80"]),
  );
  const [route] = virtualHosts[0].routes;
  expect(route).toMatchObject({ match: { prefix: "/" }, route: { cluster: cartRoutes } });
  expect(route.route.maxStreamDuration.maxStreamDuration).toBe("0s");
});

it("a port of plain TCP has no routes, and one without a protocol has them", () => {
  const countOf = (port: string): number =>
    (grpcClient(meshOf(cart.replace("name: grpc", port))).get("rds", cartRoutes).virtualHosts ?? []).length;
  expect(["name: tcp", "name: main", "name: grpc"].map(countOf)).toEqual([0, 1, 1]);
});

it("weights, headers, retries and faults are those of the VirtualService", () => {
  const fault =
    "fault: {abort: {grpcStatus: UNAVAILABLE, percentage: {value: 10}}, delay: {fixedDelay: 2s, percentage: {value: 5}}}";
  const [first, second] = routesOf(`[
    {match: [{uri: {exact: /a.B/C}, headers: {user: {prefix: j}}}], route: [${to("v1", 20)}, ${to("v2", 80)}]},
    {${anywhere}, retries: {attempts: 3, retryOn: "unavailable"}, ${fault}}]`);
  expect(first.match).toMatchObject({ path: "/a.B/C", headers: [{ name: "user", stringMatch: { prefix: "j" } }] });
  expect(first.route.weightedClusters.clusters).toEqual([
    { name: "outbound|80|v1|cart.shop.svc.cluster.local", weight: 20 },
    { name: "outbound|80|v2|cart.shop.svc.cluster.local", weight: 80 },
  ]);
  expect(second.route.retryPolicy).toMatchObject({ retryOn: "unavailable", numRetries: 3 });
  expect(second.typedPerFilterConfig["envoy.filters.http.fault"]).toMatchObject({
    abort: { grpcStatus: 14 },
    delay: { fixedDelay: "2s" },
  });
});

it("a timeout limits the duration of calls, with a reserve for a library that ends them early", () => {
  const limit = (userAgent: keyof typeof userAgents): Json =>
    routesOf(`[{timeout: 1.5s, ${anywhere}}]`, userAgent)[0].route.maxStreamDuration.maxStreamDuration;
  expect(limit("go")).toBe("1.500s");
  expect(limit("node")).toBe("1.500s");
  expect(limit("c-core")).toBe("3.500s");
});

it("no retries are no policy, since libraries reject one without retries", () => {
  expect(routesOf(`[{${anywhere}, retries: {attempts: 0}}]`)[0].route.retryPolicy).toBeUndefined();
});

it("routes that no call matches are left out: query parameters, other methods and schemes", () => {
  const match = (text: string): string => `{match: [${text}], ${anywhere}}`;
  for (const text of ["{queryParams: {a: {exact: b}}}", "{method: {exact: GET}}", "{scheme: {exact: https}}"])
    expect(routesOf(`[${match(text)}]`), text).toEqual([]);
  expect(routesOf(`[${match("{method: {exact: POST}}")}]`)[0].match).toEqual({ prefix: "/", caseSensitive: true });
});

it("headers have the names of metadata, which the C core compares exactly", () => {
  const [route] = routesOf(`[{match: [{headers: {Tenant: {exact: A}}}], ${anywhere}}]`);
  expect(route.match.headers).toEqual([{ name: "tenant", stringMatch: { exact: "A" } }]);
});

it("an inverted match of a value is one route for calls without the header and one for those with another value", () => {
  const matches = routesOf(`[{match: [{withoutHeaders: {user: {exact: jason}}}], ${anywhere}}]`).map(
    ({ match }) => match,
  );
  expect(matches.map(({ headers }) => headers)).toEqual([
    [{ name: "user", presentMatch: true, invertMatch: true }],
    [{ name: "user", stringMatch: { exact: "jason" }, invertMatch: true }],
  ]);
});

it("an inverted match of more values than routes can express matches no call", () => {
  const matching = (count: number): string => {
    const values = Array.from({ length: count }, (_, i) => `h${i}: {exact: x}`);
    return `[{match: [{withoutHeaders: {${values.join()}, present: {}}}], ${anywhere}}]`;
  };
  expect(routesOf(matching(4))).toHaveLength(16);
  expect(routesOf(matching(5))).toEqual([]);
  expect(routesOf(matching(40))).toEqual([]);
});

it("an authority is that of the domain by which the client addresses the service", () => {
  const found = grpcClient(
    meshOf(cart, rule(), routes(`[{match: [{authority: {exact: "cart:80"}}], route: [${to("v1")}]}, {${anywhere}}]`)),
  ).get("rds", cartRoutes);
  const hosts = found.virtualHosts as readonly { domains: string[]; routes: Json[] }[];
  const routesFor = (domain: string) => hosts.find(({ domains }) => domains.includes(domain))?.routes.length;
  expect(routesFor("cart:80")).toBe(2);
  expect(routesFor("cart.shop:80")).toBe(1);
  const domains = hosts.flatMap((host) => host.domains);
  expect(new Set(domains).size).toBe(domains.length);
});

it("a direct response and a redirect abort calls with their status", () => {
  const [refused, moved] = routesOf(`[
    {match: [{uri: {prefix: /a}}], directResponse: {status: 503}},
    {match: [{uri: {prefix: /b}}], redirect: {uri: /c}},
    {${anywhere}}]`);
  for (const [route, status] of [
    [refused, 503],
    [moved, 301],
  ]) {
    expect(route.route.cluster).toBe(cartRoutes);
    expect(route.directResponse ?? route.redirect).toBeUndefined();
    expect(route.typedPerFilterConfig["envoy.filters.http.fault"].abort).toEqual({
      httpStatus: status,
      percentage: { numerator: 100 },
    });
  }
});

it("what libraries ignore is left out: rewrites, mirrors, header changes, CORS, cookies of sessions", () => {
  const [route] = routesOf(`[{${anywhere}, rewrite: {uri: /x}, mirror: {host: cart}, headers: {request: {set: {a: b}}},
    corsPolicy: {allowOrigins: [{exact: a}]}}]`);
  expect(Object.keys(route).sort()).toEqual(["decorator", "match", "metadata", "route"]);
  expect(Object.keys(route.route).sort()).toEqual(["cluster", "maxStreamDuration", "retryPolicy", "timeout"]);
});

it("calls are hashed by a header, or by the channel for the source address", () => {
  const policy = (hash: string): Json => {
    const client = grpcClient(meshOf(cart, rule(`{loadBalancer: {consistentHash: {${hash}}}}`)));
    return client.get("rds", cartRoutes).virtualHosts[0].routes[0].route.hashPolicy;
  };
  expect(policy("httpHeaderName: User")).toEqual([{ header: { headerName: "user" } }]);
  expect(policy("useSourceIp: true")).toEqual([{ filterState: { key: "io.grpc.channel_id" } }]);
  expect(policy("httpCookie: {name: c, ttl: 0s}")).toBeUndefined();
});

it("a wildcard of a VirtualService covers a host without a service", () => {
  const wildcard = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: all, namespace: shop}
spec: {hosts: ["*.example.com"], http: [{route: [{destination: {host: api.example.net, port: {number: 80}}}]}]}
`;
  const client = grpcClient(meshOf(cart, wildcard));
  const { virtualHosts } = client.get("rds", "outbound|80||foo.example.com");
  expect(virtualHosts.map(({ domains }: Json) => domains)).toEqual([["*.example.com", "*.example.com:80"]]);
  expect(virtualHosts[0].routes[0].route.cluster).toBe("outbound|80||api.example.net");
  expect(client.get("rds", "outbound|80||example.org").virtualHosts).toBeUndefined();
  expect(client.get("rds", cartRoutes).virtualHosts).toHaveLength(1);
});

it("an authority decides in a wildcard's virtual host, by the host of the client", () => {
  const wildcard = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: all, namespace: shop}
spec:
  hosts: ["*.example.com"]
  http:
  - {match: [{authority: {exact: "foo.example.com:80"}}], ${anywhere}}
  - {match: [{authority: {exact: other.example.com}}], ${anywhere}}
`;
  const { virtualHosts } = grpcClient(meshOf(cart, wildcard)).get("rds", "outbound|80||foo.example.com");
  const routesFor = (domain: string): Json =>
    virtualHosts.find(({ domains }: Json) => domains.includes(domain))?.routes?.length;
  expect(routesFor("foo.example.com:80")).toBe(1);
  expect(routesFor("*.example.com:80")).toBeUndefined();
  expect(routesFor("foo.example.com")).toBeUndefined();
  const domains = virtualHosts.flatMap((host: Json) => host.domains) as string[];
  expect(new Set(domains).size).toBe(domains.length);
});

it("a target that is spelled with capitals has its own domains", () => {
  const client = grpcClient(meshOf(cart));
  const domainsOf = (target: string): Json => {
    const { rds } = client.get("lds", target).apiListener.apiListener;
    return client.get("rds", rds.routeConfigName).virtualHosts[0].domains;
  };
  expect(domainsOf("Cart:80")).toEqual(expect.arrayContaining(["Cart:80", "cart.shop:80"]));
  expect(domainsOf("Cart:80")).not.toContain("cart:80");
  expect(domainsOf("CART.Shop:80")).toContain("CART.Shop:80");
  expect(domainsOf("Cart.shop.svc.cluster.local.:80")).toContain("Cart.shop.svc.cluster.local.:80");
  expect(domainsOf("cart.shop.svc.cluster.local.:80")).toContain("cart.shop.svc.cluster.local.:80");
});

it("Java has no domain that ends with a dot, on which its channels fail", () => {
  const domainsOf = (userAgent?: keyof typeof userAgents): readonly string[] =>
    grpcClient(meshOf(cart), userAgent && { userAgent })
      .get("rds", cartRoutes)
      .virtualHosts.flatMap((host: Json) => host.domains);
  for (const userAgent of ["java", undefined] as const) {
    expect(domainsOf(userAgent).filter((domain) => domain.endsWith("."))).toEqual([]);
    expect(domainsOf(userAgent)).toContain("cart.shop.svc.cluster.local.:80");
  }
  expect(domainsOf("go")).toContain("cart.shop.svc.cluster.local.");
});

it("a name of another form has no routes", () => {
  const client = grpcClient(meshOf(cart));
  for (const name of ["80", "cart:80", "", "outbound|80|", "outbound|0||cart"])
    expect(client.get("rds", name)).toBeUndefined();
});
