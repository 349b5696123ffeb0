import { fromBinary, toJson } from "@bufbuild/protobuf";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { describe, expect, test } from "vitest";
import { workloadYaml } from "../endpoints/endpoint-yaml.js";
import { istioYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh, type TestProxy } from "../mesh.js";

const nameTable = "istio.networking.nds.v1.NameTable";

/** The table's only resource, which has no name. */
function table(proxy: TestProxy): Json {
  const [found] = [...proxy.set(nameTable)];
  return (toJson(NameTableSchema, fromBinary(NameTableSchema, found?.bytes ?? new Uint8Array())) as Json).table ?? {};
}
const ports = [{ number: 443, name: "tls", protocol: "TLS" }];

describe("the DNS name table", () => {
  test("has the names of services, with short names for Kubernetes", () => {
    const proxy = new TestMesh(
      serviceYaml("cart") +
        serviceEntry("api", {
          hosts: ["api.example.org"],
          addresses: ["192.0.2.1", "198.51.100.0/24"],
          ports,
          resolution: "STATIC",
        }),
    ).proxy();
    expect(table(proxy)).toEqual({
      "api.example.org": { ips: ["192.0.2.1"], registry: "External" },
      "cart.shop.svc.cluster.local": {
        ips: ["10.96.0.1"],
        registry: "Kubernetes",
        shortname: "cart",
        namespace: "shop",
      },
    });
  });

  test("has the ready pods of a headless service, and their hostnames", () => {
    const stateful = (ip: string, name: string, ready = true): string =>
      workloadYaml("db", ip, {
        name,
        spec: { hostname: name, subdomain: "db" },
        conditions: { ready, serving: ready, terminating: false },
      });
    const mesh = new TestMesh(serviceYaml("db", { ip: "None" }))
      .apply(stateful("10.1.0.1", "db-0"))
      .apply(stateful("10.1.0.2", "db-1", false));
    const proxy = mesh.proxy();
    expect(table(proxy)).toEqual({
      "db-0.db.shop.svc.cluster.local": {
        ips: ["10.1.0.1"],
        registry: "Kubernetes",
        shortname: "db-0.db",
        namespace: "shop",
      },
      "db.shop.svc.cluster.local": { ips: ["10.1.0.1"], registry: "Kubernetes", shortname: "db", namespace: "shop" },
    });
    mesh.apply(serviceYaml("db", { ip: "None", spec: { publishNotReadyAddresses: true } }));
    expect(table(proxy)["db.shop.svc.cluster.local"].ips).toEqual(["10.1.0.1", "10.1.0.2"]);
  });

  test("does not change with the endpoints of a service with an address", () => {
    const mesh = new TestMesh(serviceYaml("cart")).apply(workloadYaml("cart", "10.1.0.1"));
    const proxy = mesh.proxy();
    const before = proxy.set(nameTable);
    mesh.apply(workloadYaml("cart", "10.1.0.2"));
    expect(proxy.set(nameTable)).toBe(before);
  });

  test("has the addresses of all ServiceEntries of a host, unless Kubernetes has the host", () => {
    const entry = (name: string, address: string): string =>
      serviceEntry(name, { hosts: ["cart.shop.svc.cluster.local"], addresses: [address], ports, resolution: "STATIC" });
    const mesh = new TestMesh(entry("a", "192.0.2.1") + entry("b", "192.0.2.2"));
    const proxy = mesh.proxy();
    expect(table(proxy)).toEqual({
      "cart.shop.svc.cluster.local": { ips: ["192.0.2.1", "192.0.2.2"], registry: "External" },
    });
    mesh.apply(serviceYaml("cart"));
    expect(table(proxy)["cart.shop.svc.cluster.local"]).toEqual({
      ips: ["10.96.0.1"],
      registry: "Kubernetes",
      shortname: "cart",
      namespace: "shop",
    });
  });

  test("has auto-allocated addresses with DNS capture, and follows the Sidecar", () => {
    const allocated = JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "ServiceEntry",
      metadata: { name: "api", namespace: "shop" },
      spec: { hosts: ["api.example.org"], ports, resolution: "DNS" },
      status: { addresses: [{ value: "240.240.0.1", host: "api.example.org" }] },
    });
    const mesh = new TestMesh(serviceYaml("cart")).apply(allocated);
    expect(Object.keys(table(mesh.proxy()))).toEqual(["cart.shop.svc.cluster.local"]);
    const capturing = mesh.proxy({ metadata: { DNS_CAPTURE: "true" }, ip: "10.4.0.1" });
    expect(table(capturing)["api.example.org"].ips).toEqual(["240.240.0.1"]);
    mesh.apply(istioYaml("Sidecar", "default", { egress: [{ hosts: ["./api.example.org"] }] }));
    expect(Object.keys(table(capturing))).toEqual(["api.example.org"]);
  });

  test("is empty for a gateway", () => {
    expect(table(new TestMesh(serviceYaml("cart")).proxy({ type: "router" }))).toEqual({});
  });
});

describe("a host of several ServiceEntries with allocated addresses", () => {
  const part = (name: string, port: number, protocol: string, address?: string, namespace = "shop"): string =>
    `---\n${JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "ServiceEntry",
      metadata: { name, namespace, creationTimestamp: `2024-01-0${port % 10}T00:00:00Z` },
      spec: {
        hosts: ["broker.example.net"],
        location: "MESH_EXTERNAL",
        resolution: "DNS",
        ports: [{ number: port, name: `${protocol.toLowerCase()}-${port}`, protocol }],
      },
      ...(address !== undefined && { status: { addresses: [{ host: "broker.example.net", value: address }] } }),
    })}\n`;
  const dns = { metadata: { DNS_CAPTURE: "true" } };
  const listeners = (proxy: TestProxy): string[] =>
    proxy.names("envoy.config.listener.v3.Listener").filter((name) => name.startsWith("240."));
  const first = part("plain", 7001, "TCP", "240.240.0.1");

  test.each([
    ["of their own", part("admin", 7002, "TCP", "240.240.0.2") + part("tls", 7003, "TLS", "240.240.0.3")],
    ["of the oldest", part("admin", 7002, "TCP", "240.240.0.1") + part("tls", 7003, "TLS", "240.240.0.1")],
    ["not yet", part("admin", 7002, "TCP") + part("tls", 7003, "TLS")],
  ])("has one address, at which every port listens, if the others have addresses %s", (_, others) => {
    const proxy = new TestMesh(first + others).proxy(dns);
    expect(table(proxy)["broker.example.net"].ips).toEqual(["240.240.0.1"]);
    expect(listeners(proxy)).toEqual(["240.240.0.1_7001", "240.240.0.1_7002", "240.240.0.1_7003"]);
  });

  test("has the address of the oldest that has one, and one of its own in another namespace", () => {
    const proxy = new TestMesh(part("plain", 7001, "TCP") + part("admin", 7002, "TCP", "240.240.0.2")).proxy(dns);
    expect(table(proxy)["broker.example.net"].ips).toEqual(["240.240.0.2"]);
    expect(listeners(proxy)).toEqual(["240.240.0.2_7001", "240.240.0.2_7002"]);
    const elsewhere = new TestMesh(first + part("other", 7002, "TCP", "240.240.0.9", "bank")).proxy({
      ...dns,
      namespace: "bank",
      ip: "10.1.0.9",
    });
    expect(listeners(elsewhere)).toContain("240.240.0.9_7002");
  });

  test.each([
    ["the status of the other is written", "240.240.0.2"],
    ["it is not", undefined],
  ])("has the address that one of the ServiceEntries gives, if %s", (_, address) => {
    const given = part("plain", 7001, "TCP").replace('"spec":{', '"spec":{"addresses":["192.0.2.7"],');
    const proxy = new TestMesh(given + part("admin", 7002, "TCP", address)).proxy(dns);
    expect(table(proxy)["broker.example.net"].ips).toEqual(["192.0.2.7"]);
    const all = proxy.names("envoy.config.listener.v3.Listener");
    expect(all.filter((name) => /_700\d$/.test(name))).toEqual(["192.0.2.7_7001", "192.0.2.7_7002"]);
  });

  test("routes HTTP at its address", () => {
    const proxy = new TestMesh(first + part("web", 7003, "HTTP", "240.240.0.3")).proxy(dns);
    const { virtualHosts } = proxy.json("envoy.config.route.v3.RouteConfiguration", "7003");
    expect(virtualHosts.flatMap(({ domains }: Json) => domains)).toContain("240.240.0.1");
  });
});
