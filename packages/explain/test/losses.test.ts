import { describe, expect, test } from "vitest";
import { cart, meshOf, object, proxy, route, service, why } from "./mesh.js";

const rule = (name: string, spec: object, options: Parameters<typeof object>[3] = {}): string =>
  object("DestinationRule", name, { host: cart, ...spec }, options);
const connections = (maxConnections: number): object => ({
  trafficPolicy: { connectionPool: { tcp: { maxConnections } } },
});
const cluster = `outbound|80||${cart}`;

describe("VirtualServices without effect", () => {
  test("lose a host to the older one", () => {
    const database = meshOf(service("cart") + route("first", cart) + route("late", cart, {}, { created: 2 }));
    const { losses } = why(database, proxy(), "rds", "80");
    const winner = { kind: "VirtualService", namespace: "shop", name: "first" };
    expect(losses).toEqual([
      {
        kind: "VirtualService",
        namespace: "shop",
        name: "late",
        field: "spec.hosts",
        winner,
        reason: `does not route ${cart}:80: VirtualService shop/first, which comes first, has that host`,
      },
    ]);
  });

  test("lose the route for every request at a gateway, and no other, to the older one", () => {
    const gateway = object("Gateway", "web", {
      selector: { app: "edge" },
      servers: [{ port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
    });
    const all = [{ route: [{ destination: { host: cart } }] }];
    const yaml = service("cart") + gateway + route("first", "a.example.org", { gateways: ["web"], http: all });
    const edge = proxy("router", "shop", { app: "edge" });
    const late = (http: object[]): string =>
      object(
        "VirtualService",
        "late",
        { hosts: ["a.example.org"], gateways: ["web"], http: http as never },
        { created: 2 },
      );
    expect(
      why(meshOf(yaml + late([{ match: [{ uri: { prefix: "/x" } }], ...all[0] }])), edge, "rds", "http.8080").losses,
    ).toEqual([]);
    const { losses } = why(meshOf(yaml + late(all)), edge, "rds", "http.8080");
    const reason =
      "has a route for every request of a.example.org:8080 that is never reached: VirtualService shop/first, which comes first, has one too";
    const winner = { kind: "VirtualService", namespace: "shop", name: "first" };
    expect(losses).toEqual([
      { kind: "VirtualService", namespace: "shop", name: "late", field: "spec.http", winner, reason },
    ]);
  });

  test("lose a delegate that does not exist, is not exported, or contradicts", () => {
    const root = object("VirtualService", "root", {
      hosts: [cart],
      http: [{ delegate: { name: "leaf" } }, { route: [{ destination: { host: cart } }] }],
    });
    expect(why(meshOf(service("cart") + root), proxy(), "rds", "80").losses).toMatchObject([
      { name: "root", reason: expect.stringContaining("there is no VirtualService shop/leaf without hosts") },
    ]);
  });
});

describe("DestinationRules without effect", () => {
  const losses = (yaml: string, client = proxy()) =>
    why(meshOf(service("cart") + yaml), client, "cds", cluster).losses.map(({ name, reason }) => `${name} ${reason}`);

  test("are told when they are merged with an older one", () => {
    expect(
      losses(
        rule("a", { ...connections(1), subsets: [{ name: "v1" }] }) +
          rule("b", { ...connections(2), subsets: [{ name: "v1" }, { name: "v2" }] }, { created: 2 }),
      ),
    ).toEqual(["b is merged with DestinationRule shop/a, which comes first; without effect: trafficPolicy, subset v1"]);
  });

  test("give way to a more specific host, and to the client's namespace", () => {
    const wide = object("DestinationRule", "wide", { host: "*.shop.svc.cluster.local" });
    const root = rule("root", {}, { namespace: "istio-system" });
    expect(losses(rule("a", {}) + wide + root)).toEqual([
      "root gives way to DestinationRule shop/a: rules of the client's namespace count first, then those of the service's, then those of the root namespace",
      `wide gives way to DestinationRule shop/a, whose host ${cart} is more specific than *.shop.svc.cluster.local`,
    ]);
  });

  test("are not the client's: not exported, of a namespace that does not count, or for other workloads", () => {
    expect(losses(rule("secret", { exportTo: ["."] }, { namespace: "other" }))).toEqual([
      "secret is not exported to namespace shop",
    ]);
    expect(losses(rule("far", {}, { namespace: "other" }))).toEqual([
      "far is in namespace other, which is neither the client's, nor the service's, nor the root namespace",
    ]);
    const picky = rule("picky", { workloadSelector: { matchLabels: { app: "pay" } } });
    expect(losses(picky)).toEqual(["picky has a workloadSelector that does not select the client"]);
    expect(losses(picky, proxy("sidecar", "shop", { app: "pay" }))).toEqual([]);
  });
});

test("servers of Gateways that conflict are refused, and say with what", () => {
  const gateway = (name: string, protocol: string, created: number): string =>
    object(
      "Gateway",
      name,
      { selector: { app: "edge" }, servers: [{ port: { number: 8080, name, protocol }, hosts: ["*"] }] },
      { created },
    );
  const database = meshOf(
    service("cart") +
      gateway("web", "HTTP", 1) +
      gateway("raw", "TCP", 2) +
      route("cart", "*", { gateways: ["web"], http: [{ route: [{ destination: { host: cart } }] }] }),
  );
  const { losses } = why(database, proxy("router", "shop", { app: "edge" }), "lds", "0.0.0.0_8080");
  const winner = { kind: "Gateway", namespace: "shop", name: "web", field: "spec.servers[0]" };
  expect(losses).toEqual([
    {
      kind: "Gateway",
      namespace: "shop",
      name: "raw",
      field: "spec.servers[0]",
      winner,
      reason: "servers[0] is refused: TCP on port 8080 conflicts with HTTP",
    },
  ]);
});

test("of the Sidecars that mean a client, one counts", () => {
  const sidecar = (name: string, options: object, created = 1, namespace = "shop"): string =>
    object("Sidecar", name, { egress: [{ hosts: ["./*"] }], ...options }, { created, namespace });
  const yaml =
    service("cart") +
    sidecar("own", { workloadSelector: { labels: { app: "web" } } }, 3) +
    sidecar("old", {}) +
    sidecar("pay", { workloadSelector: { labels: { app: "pay" } } });
  const { losses } = why(meshOf(yaml), proxy("sidecar", "shop", { app: "web" }), "rds", "80");
  const winner = { kind: "Sidecar", namespace: "shop", name: "own" };
  expect(losses).toEqual([
    {
      kind: "Sidecar",
      namespace: "shop",
      name: "old",
      winner,
      reason: "gives way to Sidecar shop/own: one with a workloadSelector comes first, then the oldest",
    },
  ]);
});

test("of the PeerAuthentications of one reach, the oldest counts", () => {
  const policy = (name: string, mode: string, created: number, spec: object = {}): string =>
    object("PeerAuthentication", name, { mtls: { mode }, ...spec }, { created });
  const selector = { selector: { matchLabels: { app: "web" } } };
  const yaml =
    policy("young", "STRICT", 2) +
    policy("old", "PERMISSIVE", 1) +
    policy("mine", "STRICT", 1, selector) +
    policy("mine-too", "DISABLE", 2, selector);
  const { losses } = why(meshOf(yaml), proxy("sidecar", "shop", { app: "web" }), "lds", "virtualInbound");
  expect(losses).toEqual([
    {
      kind: "PeerAuthentication",
      namespace: "shop",
      name: "mine-too",
      winner: { kind: "PeerAuthentication", namespace: "shop", name: "mine" },
      reason: "gives way to PeerAuthentication shop/mine, which is the first by age and name for the client's workload",
    },
    {
      kind: "PeerAuthentication",
      namespace: "shop",
      name: "young",
      winner: { kind: "PeerAuthentication", namespace: "shop", name: "old" },
      reason:
        "gives way to PeerAuthentication shop/old, which is the first by age and name for all workloads of namespace shop",
    },
  ]);
});
