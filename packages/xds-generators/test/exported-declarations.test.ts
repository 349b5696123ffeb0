import { describe, expect, it } from "vitest";
import { istioYaml, podYaml, serviceEntry, serviceYaml } from "./mesh-yaml.js";
import { endpointType } from "./endpoints/endpoint-yaml.js";
import { clusterType, type Json, TestMesh, type TestProxy } from "./mesh.js";

const partner = "partner.example.com";
const cluster = `outbound|8080||${partner}`;
const ports = [{ number: 8080, name: "http", protocol: "HTTP" }];
const entry = (name: string, exportTo: readonly string[], spec: object = {}): string =>
  serviceEntry(name, { hosts: [partner], resolution: "STATIC", ports, exportTo, ...spec }, "istio-system");
const listed = (address: string): object => ({ endpoints: [{ address }] });
const ofTeams =
  entry("partner-a", ["shop"], listed("192.0.2.10")) + entry("partner-b", ["bank"], listed("198.51.100.10"));

const addressesIn = (found: Json): string[] =>
  (found?.endpoints ?? []).flatMap((group: Json) =>
    group.lbEndpoints.map((lb: Json) => lb.endpoint.address.socketAddress.address as string),
  );
const eds = (proxy: TestProxy, name = cluster): string[] => addressesIn(proxy.json(endpointType, name));
const inline = (proxy: TestProxy, name = cluster): string[] => addressesIn(proxy.cluster(name).loadAssignment);
const others = { namespace: "pay", ip: "10.1.0.7" };

describe("endpoints of several ServiceEntries of a host", () => {
  it("are those of the entries that are exported to the client's namespace", () => {
    const mesh = new TestMesh(ofTeams);
    expect(eds(mesh.proxy({ namespace: "shop" }))).toEqual(["192.0.2.10"]);
    expect(eds(mesh.proxy({ namespace: "bank" }))).toEqual(["198.51.100.10"]);
    expect(mesh.proxy(others).names(clusterType)).not.toContain(cluster);
    const router = { type: "router", namespace: "bank", labels: { istio: "edge" } } as const;
    expect(eds(mesh.proxy(router))).toEqual(["198.51.100.10"]);
  });

  it("of a canary for one team do not reach others, and appear when it is exported to them", () => {
    const canary = (...to: string[]): string => entry("partner-z", to, listed("198.51.100.10"));
    const mesh = new TestMesh(entry("partner", [], listed("192.0.2.10")) + canary("bank"));
    const [shop, bank] = [mesh.proxy({ namespace: "shop" }), mesh.proxy({ namespace: "bank" })];
    expect(eds(shop)).toEqual(["192.0.2.10"]);
    expect(eds(mesh.proxy(others))).toEqual(["192.0.2.10"]);
    expect(eds(bank)).toEqual(["192.0.2.10", "198.51.100.10"]);
    mesh.apply(canary("*"));
    expect(eds(shop)).toEqual(["192.0.2.10", "198.51.100.10"]);
    expect(shop.resource(endpointType, cluster)).toBe(bank.resource(endpointType, cluster));
    mesh.apply(canary("~"));
    expect(eds(bank)).toEqual(["192.0.2.10"]);
  });

  it.each(["DNS", "DNS_ROUND_ROBIN"])("with resolution %s are those of the entries that are exported", (resolution) => {
    const by = (name: string, to: string, address: string): string =>
      entry(name, [to], { resolution, endpoints: [{ address }] });
    const mesh = new TestMesh(by("a", "shop", "a.example.net") + by("b", "bank", "b.example.net"));
    expect(inline(mesh.proxy({ namespace: "shop" }))).toEqual(["a.example.net"]);
    expect(inline(mesh.proxy({ namespace: "bank" }))).toEqual(["b.example.net"]);
  });

  it("are those of the workloads that exported entries select", () => {
    const vm = (name: string, address: string): string =>
      istioYaml("WorkloadEntry", name, { address, labels: { app: name } }, "istio-system");
    const selecting = (name: string, to: string): string =>
      entry(name, [to], { workloadSelector: { labels: { app: name } } });
    const mesh = new TestMesh(
      vm("a", "192.0.2.1") + vm("b", "192.0.2.2") + selecting("a", "shop") + selecting("b", "bank"),
    );
    expect(eds(mesh.proxy({ namespace: "shop" }))).toEqual(["192.0.2.1"]);
    expect(eds(mesh.proxy({ namespace: "bank" }))).toEqual(["192.0.2.2"]);
  });

  it("are limited at a Sidecar that imports the host, and for destinations of routes", () => {
    const sidecar = istioYaml("Sidecar", "default", { egress: [{ hosts: [`istio-system/${partner}`] }] }, "bank");
    expect(eds(new TestMesh(ofTeams + sidecar).proxy({ namespace: "bank" }))).toEqual(["198.51.100.10"]);
    const elsewhere = istioYaml("Sidecar", "default", { egress: [{ hosts: ["./*"] }] }, "bank");
    const http = [{ route: [{ destination: { host: partner } }] }];
    const route = istioYaml("VirtualService", "entry", { hosts: ["entry.example.com"], http }, "bank");
    expect(eds(new TestMesh(ofTeams + elsewhere + route).proxy({ namespace: "bank" }))).toEqual(["198.51.100.10"]);
  });
});

describe("the identities of a host's servers", () => {
  it("are those of the exported entries", () => {
    const sans = (name: string, to: string): string =>
      entry(name, [to], { location: "MESH_INTERNAL", subjectAltNames: [`spiffe://x/${name}`], ...listed("192.0.2.1") });
    const mesh = new TestMesh(sans("a", "shop") + sans("b", "bank"), { enableAutoMtls: false }).apply(
      istioYaml("DestinationRule", "tls", { host: partner, trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } }, "shop") +
        istioYaml(
          "DestinationRule",
          "tls",
          { host: partner, trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } },
          "bank",
        ),
    );
    const names = (namespace: string): string[] =>
      [...JSON.stringify(mesh.proxy({ namespace }).cluster(cluster)).matchAll(/"(spiffe:\/\/x\/.)"/g)].map(
        ([, name]) => name as string,
      );
    expect(names("shop")).toEqual(["spiffe://x/a"]);
    expect(names("bank")).toEqual(["spiffe://x/b"]);
  });
});

describe("endpoints of a Service and of ServiceEntries of its host", () => {
  const host = "cart.shop.svc.cluster.local";
  const cart = `outbound|80||${host}`;
  const more = (exportTo: readonly string[]): string =>
    serviceEntry("more", {
      hosts: [host],
      exportTo,
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      endpoints: [{ address: "192.0.2.1" }],
    });
  const annotations = { "networking.istio.io/exportTo": "shop" };

  it("are limited to those that are exported", () => {
    const mesh = new TestMesh(serviceYaml("cart") + podYaml("cart", "10.1.0.1") + more(["bank"]));
    expect(eds(mesh.proxy({ namespace: "shop" }), cart)).toEqual(["10.1.0.1"]);
    expect(eds(mesh.proxy({ namespace: "bank" }), cart)).toEqual(["10.1.0.1", "192.0.2.1"]);
    const hidden = new TestMesh(serviceYaml("cart", { annotations }) + podYaml("cart", "10.1.0.1") + more(["bank"]));
    expect(eds(hidden.proxy({ namespace: "shop" }), cart)).toEqual(["10.1.0.1"]);
    expect(eds(hidden.proxy({ namespace: "bank" }), cart)).toEqual(["192.0.2.1"]);
  });
});

describe("the DNS name of a host of several ServiceEntries", () => {
  it("resolves to the addresses of the exported entries", () => {
    const at = (name: string, to: string, address: string): string =>
      entry(name, [to], { addresses: [address], ...listed("192.0.2.1") });
    const mesh = new TestMesh(at("a", "shop", "240.0.0.1") + at("b", "bank", "240.0.0.2"));
    const table = (namespace: string): Json =>
      mesh.proxy({ namespace, metadata: { DNS_CAPTURE: "true" } }).json("istio.networking.nds.v1.NameTable", "")?.table[
        partner
      ]?.ips;
    expect(table("shop")).toEqual(["240.0.0.1"]);
    expect(table("bank")).toEqual(["240.0.0.2"]);
  });
});
