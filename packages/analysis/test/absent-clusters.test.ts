import { describe, expect, it, test } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const pod = (name: string, labels: object = {}, containers = ["app", "istio-proxy"]): string =>
  object(
    "Pod",
    name,
    { spec: { containers: containers.map((each) => ({ name: each, image: each })) } },
    { labels: { app: name.split("/")[1], ...labels } },
  );
const service = (name: string, metadata: Readonly<Record<string, unknown>> = {}): string =>
  object("Service", name, { spec: { selector: { app: "cart" }, ports: [{ name: "http", port: 80 }] } }, metadata);
const subsets = [{ name: "v1", labels: { version: "v1" } }];
const rule = (name: string, spec: object = {}): string =>
  object("DestinationRule", name, { spec: { host: "cart.shop.svc.cluster.local", subsets, ...spec } });
const destination = { host: "cart.shop.svc.cluster.local", subset: "v1" };
const http = [{ route: [{ destination }] }];
const route = (spec: object = {}, name = "shop/cart"): string =>
  object("VirtualService", name, { spec: { hosts: ["cart.shop.svc.cluster.local"], http, ...spec } });
const gateway = object("Gateway", "istio-system/front", {
  spec: {
    selector: { istio: "ingressgateway" },
    servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
  },
});
const mesh =
  service("shop/cart") +
  pod("shop/cart", { version: "v1" }) +
  pod("shop/web") +
  pod("bank/teller") +
  pod("istio-system/gw", { istio: "ingressgateway" }, ["istio-proxy"]) +
  gateway;
const found = (text: string): readonly string[] =>
  messagesIn(mesh + text, ["MESH0024", "IST0101"]).map((message) => message.replace(/^(\S+ \S+ \S+) \d+/, "$1"));
const lacking = (clients: string, reason: string, at = "http[0].route[0].destination"): string =>
  `MESH0024 VirtualService shop/cart: ${at} leads to subset "v1" of cart.shop.svc.cluster.local, which ${clients} do not have, so that ${at.startsWith("http") ? "their requests fail (503, no cluster)" : "their connections are closed"}: ${reason}`;

describe("a subset that clients of a route do not have", () => {
  const private_ = "DestinationRule shop/cart, which defines it, is not exported to namespace bank";

  it("is reported for a rule with a workload selector", () => {
    const selecting = rule("shop/cart", { workloadSelector: { matchLabels: { app: "cart" } } });
    expect(found(selecting + route())).toEqual([
      lacking(
        "sidecars of namespace bank",
        "DestinationRule shop/cart, which defines it, has a workloadSelector, which limits it to clients in its own namespace",
      ),
      lacking(
        "sidecars of namespace shop with the labels app=web",
        "DestinationRule shop/cart, which defines it, has a workloadSelector that does not select the client",
      ),
    ]);
    expect(found(selecting + route({ exportTo: ["."] }))).toHaveLength(1);
    const matching = [{ match: [{ sourceLabels: { app: "cart" } }], route: [{ destination }] }];
    expect(found(selecting + route({ exportTo: ["."], http: matching }))).toEqual([]);
  });

  it("is reported for a rule that is not exported to them", () => {
    const own = rule("shop/cart", { exportTo: ["."] });
    expect(found(own + route())).toEqual([lacking("sidecars of namespace bank", private_)]);
    expect(found(own + route({ exportTo: ["."] }))).toEqual([]);
    expect(found(rule("shop/cart", { exportTo: [".", "bank"] }) + route())).toEqual([]);
    expect(found(rule("shop/cart") + route())).toEqual([]);
    const inShop = [{ match: [{ sourceNamespace: "shop" }], route: [{ destination }] }];
    expect(found(own + route({ http: inShop }))).toEqual([]);
  });

  it("is reported for rules that another one precedes in the order of lookup", () => {
    const of = (namespace: string): string =>
      `is overridden by DestinationRule ${namespace}/other: rules in the client's namespace take precedence over the service's namespace, then the root namespace`;
    expect(found(rule("shop/cart") + rule("bank/other", { subsets: [] }) + route())).toEqual([
      lacking("sidecars of namespace bank", `DestinationRule shop/cart, which defines it, ${of("bank")}`),
    ]);
    expect(found(rule("istio-system/root") + rule("shop/other", { subsets: [] }) + route())).toEqual([
      lacking(
        "sidecars of namespace bank",
        `DestinationRule istio-system/root, which defines it, ${of("shop")}`,
      ).replace("namespace bank", "namespace bank, sidecars of namespace shop"),
    ]);
    expect(found(rule("bank/cart") + route())).toEqual([
      lacking(
        "sidecars of namespace shop",
        "DestinationRule bank/cart, which defines it, is not exported to namespace shop",
      ).replace(
        "is not exported to namespace shop",
        "is in namespace bank, which is neither the client's, nor the service's, nor the root namespace",
      ),
    ]);
  });

  it("is reported for TCP and TLS routes", () => {
    const own = rule("shop/cart", { exportTo: ["."] });
    const tls = [{ match: [{ port: 443, sniHosts: ["cart.shop.svc.cluster.local"] }], route: [{ destination }] }];
    expect(found(own + route({ http: [], tcp: [{ route: [{ destination }] }] }))).toEqual([
      lacking("sidecars of namespace bank", private_, "tcp[0].route[0].destination"),
    ]);
    expect(found(own + route({ http: [], tls }))).toEqual([
      lacking("sidecars of namespace bank", private_, "tls[0].route[0].destination"),
    ]);
  });

  it("is reported for the proxies of gateways, for mirrors and for delegates", () => {
    const own = rule("shop/cart", { exportTo: ["."] });
    const proxies = "the proxies of Gateway istio-system/front in namespace istio-system";
    const reason = private_.replace("bank", "istio-system");
    const front = { hosts: ["shop.example.com"], gateways: ["istio-system/front"] };
    expect(found(own + route(front))).toEqual([lacking(proxies, reason)]);
    const mirrored = [{ route: [{ destination: { host: destination.host } }], mirror: destination }];
    expect(found(own + route({ ...front, http: mirrored }))).toEqual([lacking(proxies, reason, "http[0].mirror")]);
    const delegating = [{ delegate: { name: "cart", namespace: "shop" } }];
    const root = route({ ...front, http: delegating }, "istio-system/root");
    expect(found(own + root + route({ hosts: [] }))).toEqual([lacking(proxies, reason)]);
    expect(found(rule("shop/cart", { exportTo: [".", "istio-system"] }) + route(front))).toEqual([]);
  });

  it("is not reported for sidecars whose Sidecar does not import the route", () => {
    const own = rule("shop/cart", { exportTo: ["."] });
    const sidecar = object("Sidecar", "bank/default", { spec: { egress: [{ hosts: ["./*"] }] } });
    expect(found(own + route() + sidecar)).toEqual([]);
  });

  it("is not reported for a rule of a wildcard host", () => {
    expect(found(rule("shop/cart", { host: "*.shop.svc.cluster.local" }) + route())).toEqual([]);
  });
});

test("a service that is not exported to the clients of a route is reported", () => {
  const text =
    service("shop/hidden", { annotations: { "networking.istio.io/exportTo": "." } }) +
    route({ http: [{ route: [{ destination: { host: "hidden.shop.svc.cluster.local" } }] }] });
  expect(found(text)).toEqual([
    "MESH0024 VirtualService shop/cart: http[0].route[0].destination leads to hidden.shop.svc.cluster.local, which sidecars of namespace bank do not have, so that their requests fail (503, no cluster): its service, of namespace shop, is not exported to namespace bank",
  ]);
});

describe("a host that only a wildcard host declares", () => {
  const wild = object("ServiceEntry", "shop/wild", {
    spec: { hosts: ["*.example.com"], resolution: "NONE", ports: [{ number: 80, name: "http", protocol: "HTTP" }] },
  });
  const exact = object("ServiceEntry", "shop/api", {
    spec: { hosts: ["api.example.com"], resolution: "DNS", ports: [{ number: 80, name: "http", protocol: "HTTP" }] },
  });
  const alias = object("Service", "shop/api", { spec: { type: "ExternalName", externalName: "api.example.com" } });
  const to = (host: string): string => route({ http: [{ route: [{ destination: { host, port: { number: 80 } } }] }] });
  const absent =
    'MESH0024 VirtualService shop/cart: http[0].route[0].destination leads to api.example.com, for which no client has a cluster, so that their requests fail (503, no cluster): ServiceEntry shop/wild declares only "*.example.com"; declare "api.example.com" in a ServiceEntry';

  it("has no cluster, as a destination, a mirror or through an alias", () => {
    expect(found(wild + to("api.example.com"))).toEqual([absent]);
    expect(found(wild + alias + to("api"))).toEqual([absent]);
    const mirror = { host: "api.example.com", port: { number: 80 } };
    const mirrored = [{ route: [{ destination: { host: "cart" } }], mirrors: [{ destination: mirror }] }];
    expect(found(wild + route({ http: mirrored }))).toEqual([
      absent.replace("route[0].destination", "mirrors[0].destination"),
    ]);
  });

  it("has none for TLS routes", () => {
    const tls = [
      {
        match: [{ port: 443, sniHosts: ["api.example.com"] }],
        route: [{ destination: { host: "api.example.com", port: { number: 80 } } }],
      },
    ];
    expect(found(wild + route({ hosts: ["api.example.com"], http: [], tls }))).toEqual([
      absent
        .replace("http[0]", "tls[0]")
        .replace("their requests fail (503, no cluster)", "their connections are closed"),
    ]);
  });

  it("has one if it is declared too, as the wildcard host itself has", () => {
    expect(found(wild + exact + to("api.example.com"))).toEqual([]);
    expect(found(wild + exact + alias + to("api"))).toEqual([]);
    expect(found(wild + to("*.example.com"))).toEqual([]);
  });
});
