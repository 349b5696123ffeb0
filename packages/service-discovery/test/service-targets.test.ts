import { describe, expect, test } from "vitest";
import { type ProxyIdentity, registeredLabels, service, serviceTargets } from "@istiod/service-discovery";
import { Mesh, podYaml, serviceYaml, sliceYaml } from "./mesh.js";

const proxy: ProxyIdentity = {
  id: "cart-1.shop",
  namespace: "shop",
  cluster: "Kubernetes",
  addresses: ["10.1.0.1"],
  labels: { app: "cart" },
  podPorts: [],
  nodeName: "n1",
  isVm: false,
};

const CART = "shop/cart.shop.svc.cluster.local";

function targets(mesh: Mesh, of: Partial<ProxyIdentity> = {}): readonly string[] {
  return mesh
    .ask(serviceTargets, { ...proxy, ...of })
    .map((t) => `${t.service.replace(".svc.cluster.local", "")}:${t.port.number} → ${t.targetPort}`);
}

describe("the services of a proxy", () => {
  test("are those that select its pod, the oldest first", () => {
    const mesh = new Mesh(serviceYaml("cart"))
      .apply(serviceYaml("young", { created: "2024-05-01T00:00:00Z" }).replace("app: young", "app: cart"))
      .apply(serviceYaml("other"))
      .apply(serviceYaml("cart", { ns: "pay" }))
      .apply(podYaml("cart-1", "10.1.0.1"));
    expect(targets(mesh)).toEqual(["shop/cart.shop:80 → 8080", "shop/young.shop:80 → 8080"]);
    expect(targets(mesh, { cluster: "east" })).toEqual([]);
    expect(targets(mesh, { cluster: "" })).toHaveLength(2);
  });

  test("do not change with the pod's readiness", () => {
    const mesh = new Mesh(serviceYaml("cart")).apply(podYaml("cart-1", "10.1.0.1"));
    const before = mesh.ask(serviceTargets, proxy);
    mesh.apply(podYaml("cart-1", "10.1.0.1", { ready: false }));
    expect(mesh.ask(serviceTargets, proxy)).toBe(before);
    mesh.apply(podYaml("cart-1", "10.1.0.1", { labels: "app: other" }));
    expect(targets(mesh)).toEqual([]);
  });

  test("have one target per port and protocol of the workload, with named ports resolved on the pod", () => {
    const yaml = serviceYaml("cart").replace(
      "ports: [{name: http, port: 80, targetPort: 8080}]",
      "ports: [{name: http, port: 80, targetPort: web}, {name: http-b, port: 81, targetPort: 8080}, {name: tcp, port: 82, targetPort: 8080}, {name: x, port: 83, targetPort: none}]",
    );
    const mesh = new Mesh(yaml).apply(podYaml("cart-1", "10.1.0.1"));
    expect(targets(mesh)).toEqual(["shop/cart.shop:80 → 8080", "shop/cart.shop:82 → 8080"]);
  });

  test("are those with its address in their EndpointSlices, if none selects its pod", () => {
    const mesh = new Mesh(serviceYaml("cart").replace("selector: {app: cart}, ", "")).apply(
      podYaml("cart-1", "10.1.0.1"),
    );
    expect(targets(mesh)).toEqual([]);
    mesh.apply(sliceYaml("a", [{ ip: "10.1.0.1" }], { ports: "{name: http, port: 9000}" }));
    expect(targets(mesh)).toEqual(["shop/cart.shop:80 → 9000"]);
  });

  test("are found by node metadata until its pod is known", () => {
    const named = serviceYaml("cart").replace("targetPort: 8080", "targetPort: web");
    expect(targets(new Mesh(serviceYaml("cart")))).toEqual(["shop/cart.shop:80 → 8080"]);
    expect(targets(new Mesh(named), { podPorts: [{ name: "web", containerPort: 7000, protocol: "TCP" }] })).toEqual([
      "shop/cart.shop:80 → 7000",
    ]);
    expect(targets(new Mesh(named), { podPorts: [{ name: "other", containerPort: 7000, protocol: "TCP" }] })).toEqual(
      [],
    );
    expect(targets(new Mesh(serviceYaml("cart")), { labels: {} })).toEqual([]);
  });

  test("of a virtual machine exclude ports that are UDP by name", () => {
    const entry = `
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: vm, namespace: shop}
spec: {address: 192.0.2.9, labels: {app: cart}}`;
    const ofPort = (name: string) =>
      targets(new Mesh(serviceYaml("cart").replace("name: http", `name: ${name}`)).apply(entry), {
        addresses: ["192.0.2.9"],
        id: "vm.shop",
      });
    expect(ofPort("http")).toEqual(["shop/cart.shop:80 → 8080"]);
    expect(ofPort("udp-x")).toEqual([]);
  });

  test("with DNS_ROUND_ROBIN are those of the workload that serves the port", () => {
    const entry = (name: string, address: string, labels: string) => `
---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: ${name}, namespace: shop}
spec: {address: ${address}, labels: ${labels}}`;
    const entries = entry("a", "192.0.2.1", "{app: vm}") + entry("b", "192.0.2.2", "{app: vm}");
    const selecting = (resolution: string) =>
      new Mesh(`
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: vm, namespace: shop}
spec: {hosts: [vm.test], resolution: ${resolution}, ports: [{number: 80, name: http, protocol: HTTP}], workloadSelector: {labels: {app: vm}}}${entries}`);
    const of = (mesh: Mesh) =>
      ["192.0.2.1", "192.0.2.2"].map(
        (address) => targets(mesh, { addresses: [address], id: "vm.shop", labels: {} }).length,
      );
    expect(of(selecting("DNS"))).toEqual([1, 1]);
    expect(of(selecting("DNS_ROUND_ROBIN"))).toEqual([1, 0]);
  });

  test("of a virtual machine are those that select its WorkloadEntry, and ServiceEntries with its address", () => {
    const mesh = new Mesh(serviceYaml("cart")).apply(`
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: vm, namespace: shop}
spec: {address: 192.0.2.9, labels: {app: cart}, ports: {http: 9000}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: listed, namespace: shop}
spec: {hosts: [listed.example.org], ports: [{number: 443, name: tls, protocol: TLS, targetPort: 8443}], resolution: STATIC, endpoints: [{address: 192.0.2.9, labels: {from: entry}}]}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: selected, namespace: shop}
spec: {hosts: [selected.example.org], ports: [{number: 70, name: http, protocol: HTTP}], resolution: STATIC, workloadSelector: {labels: {app: cart}}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: elsewhere, namespace: pay}
spec: {hosts: [elsewhere.example.org], ports: [{number: 70, name: http, protocol: HTTP}], resolution: STATIC, endpoints: [{address: 192.0.2.9}]}
`);
    const vm = { id: "vm.shop", addresses: ["192.0.2.9"], cluster: "Kubernetes" };
    expect(targets(mesh, vm)).toEqual([
      "shop/listed.example.org:443 → 8443",
      "shop/selected.example.org:70 → 9000",
      "shop/cart.shop:80 → 9000",
    ]);
    expect(mesh.ask(service, CART)).toBeDefined();
    expect(mesh.ask(registeredLabels, { ...proxy, ...vm })).toMatchObject({ from: "entry" });
  });
});

describe("an address that another namespace writes down", () => {
  const claimed = (address: string, ns = "evil", labels = "{app: evil}") => `
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: a-claim, namespace: ${ns}}
spec: {address: "${address}", labels: ${labels}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: claim, namespace: ${ns}}
spec: {hosts: [evil.test], ports: [{number: 80, name: http, protocol: HTTP}], resolution: STATIC, endpoints: [{address: "${address}"}]}
`;

  test("does not change what a Pod serves, nor its labels", () => {
    const mesh = new Mesh(serviceYaml("cart")).apply(podYaml("cart-1", "10.1.0.1"));
    const labels = mesh.ask(registeredLabels, proxy);
    mesh.apply(serviceYaml("evil", { ns: "evil" })).apply(claimed("10.1.0.1"));
    expect(targets(mesh)).toEqual(["shop/cart.shop:80 → 8080"]);
    expect(mesh.ask(registeredLabels, proxy)).toBe(labels);
  });

  test("does not change what a virtual machine serves, whichever object has the first name", () => {
    const mesh = new Mesh(serviceYaml("cart")).apply(serviceYaml("evil", { ns: "evil" }));
    mesh.apply(claimed("192.0.2.9", "shop", "{app: cart}")).apply(claimed("192.0.2.9"));
    const vm = { id: "vm.shop", addresses: ["192.0.2.9"], labels: {} };
    expect(targets(mesh, vm)).toEqual(["shop/evil.test:80 → 80", "shop/cart.shop:80 → 8080"]);
    expect(targets(mesh, { ...vm, id: "vm.pay", namespace: "pay" })).toEqual([]);
  });

  test("finds no Pod of another namespace by address", () => {
    const mesh = new Mesh(serviceYaml("cart")).set("ENABLE_PROXY_FIND_POD_BY_IP", "true");
    mesh.apply(podYaml("cart-1", "10.1.0.1"));
    expect(mesh.ask(registeredLabels, { ...proxy, id: "x.shop" })).toMatchObject({ app: "cart" });
    expect(mesh.ask(registeredLabels, { ...proxy, id: "x.evil", namespace: "evil" })).toBe(undefined);
  });

  test("is found in each text form within the namespace", () => {
    const mesh = new Mesh(serviceYaml("cart")).apply(claimed("2001:DB8:0::0009", "shop", "{app: cart}"));
    for (const address of ["2001:db8::9", "2001:0db8:0:0:0:0:0:9"])
      expect(targets(mesh, { id: "vm.shop", addresses: [address], labels: {} })).toHaveLength(2);
  });
});

test("the labels of a proxy are its pod's, with its topology", () => {
  const mesh = new Mesh(
    "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/region: us}}}",
  );
  expect(mesh.ask(registeredLabels, proxy)).toBeUndefined();
  mesh.apply(podYaml("cart-1", "10.1.0.1", { node: "n1" }));
  expect(mesh.ask(registeredLabels, proxy)).toEqual({
    app: "cart",
    "topology.kubernetes.io/region": "us",
    "topology.istio.io/cluster": "Kubernetes",
    "kubernetes.io/hostname": "n1",
  });
});
