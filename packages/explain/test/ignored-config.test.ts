import { describe, expect, it, test } from "vitest";
import { cart, meshOf, object, proxy, route, service, why } from "./mesh.js";

const rule = (name: string, spec: object, options: Parameters<typeof object>[3] = {}): string =>
  object("DestinationRule", name, { host: cart, ...spec }, options);
const connections = (maxConnections: number): object => ({
  trafficPolicy: { connectionPool: { tcp: { maxConnections } } },
});
const cluster = `outbound|80||${cart}`;

describe("the ports of an alias", () => {
  const alias = (name: string, externalName: string, ports: readonly number[]): string =>
    object("Service", name, {
      type: "ExternalName",
      externalName,
      ports: ports.map((port) => ({ name: `http-${port}`, port })),
    });

  it.each([
    ["cds", cluster],
    ["rds", "80"],
  ])("are ignored in the %s of the service that it stands for, unless the service has them", (type, name) => {
    const ignored = (ports: readonly number[]) =>
      why(meshOf(service("cart") + alias("basket", cart, ports)), proxy(), type, name).ignored;
    expect(ignored([])).toEqual([]);
    expect(ignored([80])).toEqual([]);
    expect(ignored([80, 8888])).toEqual([
      {
        kind: "Service",
        namespace: "shop",
        name: "basket",
        field: "spec.ports",
        reason: `is an alias of ${cart}: clients reach the ports of that service, whatever ports the alias declares (8888)`,
      },
    ]);
  });
});

describe("a ServiceEntry that shares its host with another of its namespace", () => {
  const entry = (name: string, exportTo: readonly string[], created: number): string =>
    object(
      "ServiceEntry",
      name,
      {
        hosts: ["api.example.com"],
        exportTo: [...exportTo],
        resolution: "STATIC",
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        endpoints: [{ address: "192.0.2.1" }],
      },
      { namespace: "istio-system", created },
    );
  const reasons = (yaml: string): readonly string[] =>
    why(meshOf(yaml), proxy(), "eds", "outbound|80||api.example.com").ignored.map(
      ({ name, reason }) => `${name} ${reason}`,
    );

  it("is ignored if it is not exported to the client, else contributes endpoints", () => {
    expect(reasons(entry("a", ["bank"], 1) + entry("b", ["shop"], 2))).toEqual(["a is not exported to namespace shop"]);
    expect(reasons(entry("a", ["*"], 1) + entry("b", ["*"], 2))).toEqual([
      "b declares api.example.com like ServiceEntry istio-system/a in the same namespace: the oldest declaration takes precedence, and this one only contributes endpoints",
    ]);
  });
});

describe("a server of an Ingress", () => {
  it("that conflicts with a Gateway is named by its Ingress", () => {
    const ingress = {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "web", namespace: "shop", annotations: { "kubernetes.io/ingress.class": "istio" } },
      spec: { tls: [{ secretName: "cert" }], rules: [] },
    };
    const gateway = object("Gateway", "own", {
      selector: { istio: "ingressgateway" },
      servers: [
        {
          port: { number: 443, name: "https", protocol: "HTTPS" },
          hosts: ["*"],
          tls: { mode: "SIMPLE", credentialName: "own" },
        },
      ],
    });
    const client = proxy("router", "istio-system", { istio: "ingressgateway" });
    const { ignored } = why(meshOf(`---\n${JSON.stringify(ingress)}\n${gateway}`), client, "lds", "0.0.0.0_443");
    expect(ignored).toMatchObject([
      {
        kind: "Gateway",
        name: "own",
        field: "spec.servers[0]",
        overriddenBy: { kind: "Ingress", namespace: "shop", name: "web", field: "spec" },
      },
    ]);
  });
});

describe("ignored VirtualServices", () => {
  it("are shadowed by an older one with the same host", () => {
    const database = meshOf(service("cart") + route("first", cart) + route("late", cart, {}, { created: 2 }));
    const { ignored } = why(database, proxy(), "rds", "80");
    const overriddenBy = { kind: "VirtualService", namespace: "shop", name: "first" };
    expect(ignored).toEqual([
      {
        kind: "VirtualService",
        namespace: "shop",
        name: "late",
        field: "spec.hosts",
        overriddenBy,
        reason: `is ignored for ${cart}:80: VirtualService shop/first has the same host and takes precedence`,
      },
    ]);
  });

  it("have an unreachable catch-all route at a gateway if an older one has one too", () => {
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
      why(meshOf(yaml + late([{ match: [{ uri: { prefix: "/x" } }], ...all[0] }])), edge, "rds", "http.8080").ignored,
    ).toEqual([]);
    const { ignored } = why(meshOf(yaml + late(all)), edge, "rds", "http.8080");
    const reason =
      "has an unreachable catch-all route for a.example.org:8080: VirtualService shop/first has one too and takes precedence";
    const overriddenBy = { kind: "VirtualService", namespace: "shop", name: "first" };
    expect(ignored).toEqual([
      { kind: "VirtualService", namespace: "shop", name: "late", field: "spec.http", overriddenBy, reason },
    ]);
  });

  it("are partly ignored if a delegate does not exist", () => {
    const root = object("VirtualService", "root", {
      hosts: [cart],
      http: [{ delegate: { name: "leaf" } }, { route: [{ destination: { host: cart } }] }],
    });
    expect(why(meshOf(service("cart") + root), proxy(), "rds", "80").ignored).toMatchObject([
      {
        name: "root",
        reason: expect.stringContaining("there is no delegate VirtualService shop/leaf (without hosts)"),
      },
    ]);
  });
});

describe("ignored DestinationRules", () => {
  const ignored = (yaml: string, client = proxy()) =>
    why(meshOf(service("cart") + yaml), client, "cds", cluster).ignored.map(({ name, reason }) => `${name} ${reason}`);

  it("are merged into an older one, which overrides the traffic policy and subsets", () => {
    expect(
      ignored(
        rule("a", { ...connections(1), subsets: [{ name: "v1" }] }) +
          rule("b", { ...connections(2), subsets: [{ name: "v1" }, { name: "v2" }] }, { created: 2 }),
      ),
    ).toEqual(["b is merged into DestinationRule shop/a, which takes precedence; ignored: trafficPolicy, subset v1"]);
  });

  it("are overridden by a more specific host and by the client's namespace", () => {
    const wide = object("DestinationRule", "wide", { host: "*.shop.svc.cluster.local" });
    const root = rule("root", {}, { namespace: "istio-system" });
    expect(ignored(rule("a", {}) + wide + root)).toEqual([
      "root is overridden by DestinationRule shop/a: rules in the client's namespace take precedence over the service's namespace, then the root namespace",
      `wide is overridden by DestinationRule shop/a, whose host ${cart} is more specific than *.shop.svc.cluster.local`,
    ]);
  });

  it("are not exported to the client, in an unrelated namespace, or for other workloads", () => {
    expect(ignored(rule("secret", { exportTo: ["."] }, { namespace: "other" }))).toEqual([
      "secret is not exported to namespace shop",
    ]);
    expect(ignored(rule("far", {}, { namespace: "other" }))).toEqual([
      "far is in namespace other, which is neither the client's, nor the service's, nor the root namespace",
    ]);
    const picky = rule("picky", { workloadSelector: { matchLabels: { app: "pay" } } });
    expect(ignored(picky)).toEqual(["picky has a workloadSelector that does not select the client"]);
    expect(ignored(picky, proxy("sidecar", "shop", { app: "pay" }))).toEqual([]);
  });

  it("without a workloadSelector apply to clients that none selects, and yield to one that selects the client", () => {
    const web = proxy("sidecar", "shop", { app: "web" });
    const selecting = (name: string, app: string) =>
      rule(name, { ...connections(1), exportTo: ["."], workloadSelector: { matchLabels: { app } } });
    const plain = rule("plain", { ...connections(2), exportTo: ["."] });
    for (const rules of [selecting("picky", "web") + plain, plain + selecting("picky", "web")]) {
      expect(ignored(rules, web)).toEqual([
        "plain is merged into DestinationRule shop/picky, which takes precedence; ignored: trafficPolicy",
      ]);
      expect(ignored(rules)).toEqual(["picky has a workloadSelector that does not select the client"]);
    }
    expect(ignored(selecting("picky", "web") + selecting("other", "pay") + plain, web)).toEqual([
      "other has a workloadSelector that does not select the client",
      "plain is merged into DestinationRule shop/picky, which takes precedence; ignored: trafficPolicy",
    ]);
  });

  it("with a workloadSelector are limited to their namespace, and leave rules without one to others", () => {
    const picky = rule("picky", { workloadSelector: { matchLabels: { app: "web" } } });
    const bank = proxy("sidecar", "bank", { app: "web" });
    expect(ignored(picky + rule("plain", {}), bank)).toEqual([
      "picky has a workloadSelector, which limits it to clients in its own namespace",
    ]);
  });
});

test("a conflicting server of a Gateway is rejected and names the server that it conflicts with", () => {
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
  const { ignored } = why(database, proxy("router", "shop", { app: "edge" }), "lds", "0.0.0.0_8080");
  const overriddenBy = { kind: "Gateway", namespace: "shop", name: "web", field: "spec.servers[0]" };
  expect(ignored).toEqual([
    {
      kind: "Gateway",
      namespace: "shop",
      name: "raw",
      field: "spec.servers[0]",
      overriddenBy,
      reason: "servers[0] is rejected: TCP on port 8080 conflicts with HTTP",
    },
  ]);
});

test("only one of the Sidecars for a client applies", () => {
  const sidecar = (name: string, options: object, created = 1, namespace = "shop"): string =>
    object("Sidecar", name, { egress: [{ hosts: ["./*"] }], ...options }, { created, namespace });
  const yaml =
    service("cart") +
    sidecar("own", { workloadSelector: { labels: { app: "web" } } }, 3) +
    sidecar("old", {}) +
    sidecar("pay", { workloadSelector: { labels: { app: "pay" } } });
  const { ignored } = why(meshOf(yaml), proxy("sidecar", "shop", { app: "web" }), "rds", "80");
  const overriddenBy = { kind: "Sidecar", namespace: "shop", name: "own" };
  expect(ignored).toEqual([
    {
      kind: "Sidecar",
      namespace: "shop",
      name: "old",
      overriddenBy,
      reason: "is overridden by Sidecar shop/own: a Sidecar with a workloadSelector takes precedence, then the oldest",
    },
  ]);
});

test("the oldest PeerAuthentication of each scope applies", () => {
  const policy = (name: string, mode: string, created: number, spec: object = {}): string =>
    object("PeerAuthentication", name, { mtls: { mode }, ...spec }, { created });
  const selector = { selector: { matchLabels: { app: "web" } } };
  const yaml =
    policy("young", "STRICT", 2) +
    policy("old", "PERMISSIVE", 1) +
    policy("mine", "STRICT", 1, selector) +
    policy("mine-too", "DISABLE", 2, selector);
  const { ignored } = why(meshOf(yaml), proxy("sidecar", "shop", { app: "web" }), "lds", "virtualInbound");
  expect(ignored).toEqual([
    {
      kind: "PeerAuthentication",
      namespace: "shop",
      name: "mine-too",
      overriddenBy: { kind: "PeerAuthentication", namespace: "shop", name: "mine" },
      reason:
        "is overridden by PeerAuthentication shop/mine, which takes precedence by age and name for the client's workload",
    },
    {
      kind: "PeerAuthentication",
      namespace: "shop",
      name: "young",
      overriddenBy: { kind: "PeerAuthentication", namespace: "shop", name: "old" },
      reason:
        "is overridden by PeerAuthentication shop/old, which takes precedence by age and name for all workloads in namespace shop",
    },
  ]);
});
