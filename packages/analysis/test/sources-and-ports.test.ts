import { describe, expect, it } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const pod = (name: string, labels: object, ports: readonly object[] = []): string =>
  object(
    "Pod",
    name,
    {
      spec: {
        containers: [
          { name: "app", ports },
          { name: "istio-proxy", image: "proxyv2" },
        ],
      },
    },
    { labels },
  );
const service = (ports: readonly object[]): string =>
  object("Service", "shop/cart", { spec: { selector: { app: "cart" }, ports } });

describe("a port of a PeerAuthentication", () => {
  const policy = (port: number): string =>
    `${JSON.stringify({ apiVersion: "security.istio.io/v1", kind: "PeerAuthentication", metadata: { name: "cart", namespace: "shop" }, spec: { selector: { matchLabels: { app: "cart" } }, portLevelMtls: { [port]: { mode: "STRICT" } } } })}\n---\n`;
  const found = (text: string): readonly string[] =>
    messagesIn(text, ["MESH0025"]).map((message) => message.replace(/^(\S+ \S+ \S+) \d+/, "$1"));
  const cart = pod("shop/cart", { app: "cart" });
  const none = (port: number, targets: string): string =>
    `MESH0025 PeerAuthentication shop/cart: no selected workload has port ${port}, so that the setting has no effect: it is the port of Service shop/cart; name the workload's port, ${targets}`;

  it("is that of the workload, not of the Service", () => {
    const http = service([{ name: "http", port: 80, targetPort: 8080 }]);
    expect(found(policy(80) + http + cart)).toEqual([none(80, "8080")]);
    expect(found(policy(8080) + http + cart)).toEqual([]);
    expect(found(policy(80) + service([{ name: "http", port: 80 }]) + cart)).toEqual([]);
    expect(found(policy(80) + http + pod("shop/cart", { app: "cart" }, [{ containerPort: 80 }]))).toEqual([]);
  });

  it("may be meant by name, by a Deployment or by a machine", () => {
    const named = service([{ name: "http", port: 80, targetPort: "web" }]);
    const ports = [{ name: "web", containerPort: 9090 }];
    expect(found(policy(80) + named + pod("shop/cart", { app: "cart" }, ports))).toEqual([none(80, "9090")]);
    const deployment = `${JSON.stringify({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "cart", namespace: "shop" }, spec: { template: { metadata: { labels: { app: "cart" } }, spec: { containers: [{ name: "app", ports }] } } } })}\n---\n`;
    expect(found(policy(80) + named + deployment)).toEqual([none(80, "9090")]);
    expect(found(policy(9090) + named + deployment)).toEqual([]);
    const machine = `${JSON.stringify({ apiVersion: "networking.istio.io/v1", kind: "WorkloadEntry", metadata: { name: "vm", namespace: "shop" }, spec: { address: "10.0.0.1", labels: { app: "cart" }, ports: { web: 7070 } } })}\n---\n`;
    expect(found(policy(80) + named + machine)).toEqual([none(80, "7070")]);
  });

  it("may be one that containers do not declare", () => {
    const http = service([{ name: "http", port: 80, targetPort: 8080 }]);
    expect(found(policy(9999) + http + cart)).toEqual([
      "MESH0025 PeerAuthentication shop/cart: no selected workload declares port 9999, and no Service leads to it: they have 8080",
    ]);
    expect(found(policy(9999) + cart)).toEqual([]);
  });
});

describe("sources that no match of a VirtualService includes", () => {
  const mesh =
    service([{ name: "http", port: 80 }]) +
    pod("shop/web", { app: "web", version: "v1" }) +
    pod("shop/web2", { app: "web", version: "v2" });
  const route = (match: object, more: object = {}): string =>
    object("VirtualService", "shop/cart", {
      spec: { hosts: ["cart"], http: [{ match: [match], route: [{ destination: { host: "cart" } }] }], ...more },
    });
  const found = (text: string): readonly string[] =>
    messagesIn(mesh + text, ["MESH0026"]).map((message) => message.replace(/^(\S+ \S+ \S+) \d+/, "$1"));
  const info = (sources: string, namespaces = "shop"): string =>
    `MESH0026 VirtualService shop/cart: every route is for sources ${sources}: other sidecars (of namespace ${namespaces}) take the default route of cart, as if there were no VirtualService; add a route without sourceLabels and sourceNamespace if they should not`;

  it("take the default route", () => {
    const v1 = { sourceLabels: { version: "v1" } };
    expect(found(route({ ...v1, headers: { "x-go": { exact: "yes" } } }))).toEqual([
      info("with the labels version=v1"),
    ]);
    expect(found(route({ sourceNamespace: "bank" }))).toEqual([info("of namespace bank")]);
    expect(found(route(v1) + pod("bank/teller", { version: "v1" }))).toEqual([info("with the labels version=v1")]);
    const tcp = { http: [], tcp: [{ match: [v1], route: [{ destination: { host: "cart" } }] }] };
    expect(found(route(v1, tcp))).toEqual([info("with the labels version=v1")]);
  });

  it("are not reported if there are none, or if a route is for all", () => {
    expect(found(route({ sourceLabels: { app: "web" } }))).toEqual([]);
    expect(found(route({ uri: { prefix: "/a" } }))).toEqual([]);
    const two = [{ match: [{ sourceLabels: { version: "v1" } }], route: [{ destination: { host: "cart" } }] }];
    expect(found(route({}, { http: [...two, { route: [{ destination: { host: "cart" } }] }] }))).toEqual([]);
    expect(found(route({ sourceLabels: { version: "v1" } }, { gateways: ["shop/gw"] }))).toEqual([]);
  });
});
