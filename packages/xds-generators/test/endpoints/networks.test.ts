import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { meshNetworks, meshNetworksKey } from "@istiod/config-schema";
import { MeshNetworksSchema } from "@istiod/istio-api/mesh/v1alpha1/network";
import { describe, expect, test } from "vitest";
import { destinationRule, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh, type TestProxy } from "../mesh.js";
import { cartCluster, endpointType, summary, workloadYaml } from "./endpoint-yaml.js";

const cart = (proxy: TestProxy): readonly string[] => summary(proxy.json(endpointType, cartCluster()));
const inNetwork = (mesh: TestMesh, network: string): TestProxy =>
  mesh.proxy({ metadata: { NETWORK: network }, ip: `10.3.0.${network.length}` });

function networks(mesh: TestMesh, gateways: Readonly<Record<string, readonly string[]>>): TestMesh {
  const json: JsonValue = {
    networks: Object.fromEntries(
      Object.entries(gateways).map(([name, addresses]) => [
        name,
        { gateways: addresses.map((address) => ({ address, port: 15443 })) },
      ]),
    ),
  };
  mesh.db.commit((tx) => tx.set(meshNetworks, meshNetworksKey, fromJson(MeshNetworksSchema, json)));
  return mesh;
}

function twoNetworks(): TestMesh {
  return new TestMesh(serviceYaml("cart"))
    .apply(workloadYaml("cart", "10.1.0.1", { network: "near" }))
    .apply(workloadYaml("cart", "10.9.0.1", { network: "far" }))
    .apply(workloadYaml("cart", "10.9.0.2", { network: "far" }))
    .apply(workloadYaml("cart", "10.9.0.3", { network: "far", injected: false }));
}

describe("endpoints of several networks", () => {
  test("are reached directly while no network has a gateway", () => {
    expect(cart(inNetwork(twoNetworks(), "near"))).toEqual([
      "/ p0 w4: 10.1.0.1:8080*1 10.9.0.1:8080*1 10.9.0.2:8080*1 10.9.0.3:8080*1",
    ]);
  });

  test("are reached through gateways with their total weight, and omitted without mutual TLS", () => {
    const mesh = networks(twoNetworks(), { far: ["203.0.113.1", "203.0.113.2"] });
    expect(cart(inNetwork(mesh, "near"))).toEqual(["/ p0 w6: 10.1.0.1:8080*2 203.0.113.1:15443*2 203.0.113.2:15443*2"]);
    expect(cart(inNetwork(mesh, "far"))).toEqual([
      "/ p0 w8: 10.1.0.1:8080*2 10.9.0.1:8080*2 10.9.0.2:8080*2 10.9.0.3:8080*2",
    ]);
    const gateway = inNetwork(mesh, "near").json(endpointType, cartCluster()).endpoints[0].lbEndpoints[1];
    expect(gateway.metadata.filterMetadata).toEqual({
      "envoy.transport_socket_match": { tlsMode: "istio" },
      istio: { workload: ";;;;" },
    });
    expect(gateway.healthStatus).toBeUndefined();
  });

  test("are reached through gateways by a client without a network", () => {
    const mesh = networks(twoNetworks(), { far: ["203.0.113.1"] });
    expect(cart(mesh.proxy())).toEqual(["/ p0 w3: 10.1.0.1:8080*1 203.0.113.1:15443*2"]);
  });

  test("are omitted if no gateway has an address of the client's family", () => {
    const mesh = networks(twoNetworks(), { far: ["2001:db8::1"] });
    expect(cart(inNetwork(mesh, "near"))).toEqual(["/ p0 w1: 10.1.0.1:8080*1"]);
  });

  test("are limited to the client's requested network view", () => {
    const proxy = twoNetworks().proxy({ metadata: { REQUESTED_NETWORK_VIEW: "near" } });
    expect(cart(proxy)).toEqual(["/ p0 w1: 10.1.0.1:8080*1"]);
  });

  test("without an address are reached only through a gateway", () => {
    const entry = `---\n${JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "WorkloadEntry",
      metadata: { name: "vm", namespace: "shop" },
      spec: { network: "far", labels: { app: "cart" }, serviceAccount: "vm" },
    })}\n`;
    const mesh = new TestMesh(serviceYaml("cart")).apply(entry);
    expect(cart(inNetwork(mesh, "near"))).toEqual([]);
    networks(mesh, { far: ["203.0.113.1"] });
    expect(cart(inNetwork(mesh, "near"))).toEqual(["/ p0 w1: 203.0.113.1:15443*1"]);
  });

  test("on Unix domain sockets are omitted once a network has a gateway", () => {
    const spec = {
      hosts: ["api.example.com"],
      resolution: "STATIC",
      ports: [{ number: 80, name: "tcp", protocol: "TCP" }],
      endpoints: [{ address: "unix:///run/api.sock" }, { address: "192.0.2.1" }],
    };
    const mesh = new TestMesh(serviceEntry("api", spec));
    const addresses = (): readonly string[] =>
      inNetwork(mesh, "near")
        .json(endpointType, "outbound|80||api.example.com")
        .endpoints[0].lbEndpoints.map(
          ({ endpoint }: Json) => endpoint.address.pipe?.path ?? endpoint.address.socketAddress.address,
        );
    expect(addresses()).toEqual(["/run/api.sock", "192.0.2.1"]);
    networks(mesh, { far: ["203.0.113.1"] });
    expect(addresses()).toEqual(["192.0.2.1"]);
  });

  test("are one resource for clients of one network, and for all clients without gateways", () => {
    const mesh = twoNetworks();
    const resource = (proxy: TestProxy): unknown => proxy.resource(endpointType, cartCluster());
    expect(resource(inNetwork(mesh, "near"))).toBe(resource(inNetwork(mesh, "far")));
    networks(mesh, { far: ["203.0.113.1"] });
    expect(resource(inNetwork(mesh, "near"))).toBe(resource(inNetwork(mesh, "near")));
    expect(resource(inNetwork(mesh, "near"))).not.toBe(resource(inNetwork(mesh, "far")));
  });
});

describe("a gateway to a network whose endpoints are in several zones", () => {
  const zones = (...counts: readonly (readonly [zone: string, count: number])[]): TestMesh => {
    const mesh = new TestMesh(serviceYaml("cart")).apply(
      workloadYaml("cart", "10.1.0.1", { network: "near", zone: "r0.z0" }),
    );
    counts.forEach(([zone, count], i) => {
      for (let n = 1; n <= count; n++)
        mesh.apply(workloadYaml("cart", `10.9.${i}.${n}`, { network: "far", zone: zone.replace("/", ".") }));
    });
    return mesh;
  };
  const far = (): TestMesh => zones(["r1/a", 2], ["r1/b", 2], ["r1/c", 1]);
  const client = (mesh: TestMesh, locality = { region: "r0", zone: "z0", subzone: "" }): TestProxy =>
    mesh.proxy({ metadata: { NETWORK: "near" }, ip: "10.3.0.1", locality });
  /** Groups that have endpoints. */
  const filled = (proxy: TestProxy): readonly string[] => cart(proxy).filter((line) => !line.endsWith(": "));
  const policy = (localityLbSetting: object): string =>
    destinationRule("cart.shop.svc.cluster.local", {
      trafficPolicy: { outlierDetection: {}, loadBalancer: { localityLbSetting } },
    });

  test("has the weight of all of them, once", () => {
    expect(filled(client(networks(far(), { far: ["203.0.113.1"] })))).toEqual([
      "r0/z0 p0 w1: 10.1.0.1:8080*1",
      "r1/a p0 w5: 203.0.113.1:15443*5",
    ]);
  });

  test("shares it with other gateways of the network", () => {
    expect(filled(client(networks(far(), { far: ["203.0.113.1", "203.0.113.2"] })))).toEqual([
      "r0/z0 p0 w2: 10.1.0.1:8080*2",
      "r1/a p0 w10: 203.0.113.1:15443*5 203.0.113.2:15443*5",
    ]);
  });

  test("is one gateway of several networks with one address", () => {
    const mesh = networks(far(), { far: ["203.0.113.1"], farther: ["203.0.113.1"] });
    mesh.apply(workloadYaml("cart", "10.8.0.1", { network: "farther", zone: "r1.a" }));
    expect(filled(client(mesh))).toEqual(["r0/z0 p0 w1: 10.1.0.1:8080*1", "r1/a p0 w6: 203.0.113.1:15443*6"]);
  });

  test("stands where most of its endpoints are, with the best priority", () => {
    const mesh = networks(zones(["r1/a", 1], ["r1/b", 3], ["r2/c", 9]), { far: ["203.0.113.1"] }).apply(
      policy({ enabled: true }),
    );
    expect(filled(client(mesh, { region: "r1", zone: "b", subzone: "" }))).toEqual([
      "r0/z0 p2 w1: 10.1.0.1:8080*1",
      "r1/b p0 w13: 203.0.113.1:15443*13",
    ]);
    expect(filled(client(mesh, { region: "r1", zone: "x", subzone: "" }))).toEqual([
      "r0/z0 p1 w1: 10.1.0.1:8080*1",
      "r1/b p0 w13: 203.0.113.1:15443*13",
    ]);
    expect(filled(client(mesh, { region: "r2", zone: "c", subzone: "" }))).toEqual([
      "r0/z0 p1 w1: 10.1.0.1:8080*1",
      "r2/c p0 w13: 203.0.113.1:15443*13",
    ]);
  });

  test("takes the shares of its localities with it if they are distributed explicitly", () => {
    const distribute = [{ from: "r0/*", to: { "r0/*": 50, "r1/a": 30, "r1/b": 15, "r1/c": 5 } }];
    const mesh = networks(far(), { far: ["203.0.113.1"] }).apply(policy({ enabled: true, distribute }));
    expect(filled(client(mesh))).toEqual(["r0/z0 p0 w50: 10.1.0.1:8080*1", "r1/a p0 w50: 203.0.113.1:15443*5"]);
  });
});

test("an address in two localities counts once, in the first", () => {
  const endpoints = ["r1/a", "r2/b"].map((locality) => ({ address: "192.0.2.1", locality }));
  const mesh = new TestMesh(
    serviceEntry("api", {
      hosts: ["api.example.com"],
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      endpoints: [...endpoints, { address: "192.0.2.2", locality: "r2/b", weight: 3 }],
    }),
  );
  expect(summary(mesh.proxy().json(endpointType, "outbound|80||api.example.com"))).toEqual([
    "r1/a p0 w1: 192.0.2.1:80*1",
    "r2/b p0 w3: 192.0.2.2:80*3",
  ]);
  const pod = workloadYaml("cart", "10.1.0.1", { zone: "r1.a" });
  const vm = `---\n${JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind: "WorkloadEntry",
    metadata: { name: "vm", namespace: "shop" },
    spec: { address: "10.1.0.1", ports: { http: 8080 }, labels: { app: "cart" }, locality: "r2/b" },
  })}\n`;
  expect(cart(new TestMesh(serviceYaml("cart")).apply(pod).apply(vm).proxy())).toEqual(["r1/a p0 w1: 10.1.0.1:8080*1"]);
});

describe("an address that several objects of one locality name", () => {
  const vm = (spec: object = {}): string =>
    `---\n${JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "WorkloadEntry",
      metadata: { name: "vm", namespace: "shop" },
      spec: { address: "10.1.0.1", ports: { http: 8080 }, labels: { app: "cart" }, ...spec },
    })}\n`;
  const pods = workloadYaml("cart", "10.1.0.1") + workloadYaml("cart", "10.1.0.2");
  const ports = [{ number: 80, name: "http", protocol: "HTTP" }];
  const entry = (spec: object): string => serviceEntry("api", { hosts: ["api.example.com"], ports, ...spec });
  const api = (mesh: TestMesh): readonly string[] =>
    summary(mesh.proxy().json(endpointType, "outbound|80||api.example.com"));

  test.each([
    ["a Pod and a WorkloadEntry", {}, "/ p0 w2: 10.1.0.1:8080*1 10.1.0.2:8080*1"],
    ["a Pod and a WorkloadEntry with a weight", { weight: 5 }, "/ p0 w6: 10.1.0.1:8080*5 10.1.0.2:8080*1"],
  ])("is one endpoint with the largest weight: %s", (_, spec, expected) => {
    expect(cart(new TestMesh(serviceYaml("cart")).apply(pods).apply(vm(spec)).proxy())).toEqual([expected]);
    expect(cart(new TestMesh(serviceYaml("cart")).apply(vm(spec)).apply(pods).proxy())).toEqual([expected]);
  });

  test("is one endpoint of a ServiceEntry, and of several of a host", () => {
    const twice = [3, 4].map((weight) => ({ address: "192.0.2.1", weight }));
    const mesh = new TestMesh(entry({ resolution: "STATIC", endpoints: [...twice, { address: "192.0.2.2" }] }));
    expect(api(mesh)).toEqual(["/ p0 w5: 192.0.2.1:80*4 192.0.2.2:80*1"]);
    const others = serviceEntry("more", {
      hosts: ["api.example.com"],
      ports,
      resolution: "STATIC",
      endpoints: [{ address: "192.0.2.2", weight: 2 }, { address: "192.0.2.3" }],
    });
    expect(api(mesh.apply(others))).toEqual(["/ p0 w7: 192.0.2.1:80*4 192.0.2.2:80*2 192.0.2.3:80*1"]);
  });

  test("is different endpoints at different ports, and in networks that use the same addresses", () => {
    const spec = {
      resolution: "STATIC",
      endpoints: [80, 81].map((http) => ({ address: "192.0.2.1", ports: { http } })),
    };
    expect(api(new TestMesh(entry(spec)))).toEqual(["/ p0 w2: 192.0.2.1:80*1 192.0.2.1:81*1"]);
    const apart = ["near", "far"].map((network) => ({ address: "192.0.2.1", network }));
    const mesh = networks(new TestMesh(entry({ resolution: "STATIC", endpoints: apart, location: "MESH_INTERNAL" })), {
      far: ["203.0.113.1"],
    });
    expect(summary(inNetwork(mesh, "near").json(endpointType, "outbound|80||api.example.com"))).toHaveLength(1);
  });

  test("is in the subsets whose labels any of the objects has", () => {
    const rule = destinationRule("cart.shop.svc.cluster.local", { subsets: [{ name: "v", labels: { vm: "yes" } }] });
    const labels = { app: "cart", vm: "yes" };
    const mesh = new TestMesh(serviceYaml("cart") + rule).apply(pods).apply(vm({ labels, weight: 2 }));
    expect(summary(mesh.proxy().json(endpointType, cartCluster("v")))).toEqual(["/ p0 w2: 10.1.0.1:8080*2"]);
  });
});

test("an AUTO_PASSTHROUGH gateway is sent only endpoints with mutual TLS", () => {
  const gateway = JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: { name: "cross", namespace: "istio-system" },
    spec: {
      selector: { app: "gw" },
      servers: [
        {
          port: { number: 15443, name: "tls", protocol: "TLS" },
          tls: { mode: "AUTO_PASSTHROUGH" },
          hosts: ["*.local"],
        },
      ],
    },
  });
  const mesh = new TestMesh(serviceYaml("cart"))
    .apply(workloadYaml("cart", "10.1.0.1"))
    .apply(workloadYaml("cart", "10.1.0.2", { injected: false }))
    .apply(gateway)
    .apply(destinationRule("cart.shop.svc.cluster.local", { subsets: [{ name: "v1", labels: { app: "cart" } }] }));
  const router = mesh.proxy({ type: "router", namespace: "istio-system", labels: { app: "gw" } });
  expect(summary(router.json(endpointType, "outbound_.80_._.cart.shop.svc.cluster.local"))).toEqual([
    "/ p0 w1: 10.1.0.1:8080*1",
  ]);
  expect(router.names(endpointType)).toContain("outbound_.80_.v1_.cart.shop.svc.cluster.local");
  expect(mesh.proxy().names(endpointType)).toEqual([cartCluster("v1"), cartCluster()]);
});
