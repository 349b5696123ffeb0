import { describe, expect, test } from "vitest";
import { allEndpoints, endpoints, service } from "@istiod/service-discovery";
import { Mesh, podYaml, serviceYaml, sliceYaml } from "./mesh.js";

const CART = "shop/cart.shop.svc.cluster.local";
const HTTP = { service: CART, port: "http" };

/** Two pods behind the Service `cart`. */
function cart(): Mesh {
  return new Mesh(serviceYaml("cart"))
    .apply(podYaml("cart-1", "10.1.0.1"))
    .apply(podYaml("cart-2", "10.1.0.2"))
    .apply(
      sliceYaml("cart-a", [
        { pod: "cart-1", ip: "10.1.0.1" },
        { pod: "cart-2", ip: "10.1.0.2" },
      ]),
    );
}

const health = (mesh: Mesh) => Object.fromEntries(mesh.ask(endpoints, HTTP).map((e) => [e.addresses[0], e.health]));

describe("endpoints of a Kubernetes Service", () => {
  test("are the pods of its EndpointSlices, with identity and workload", () => {
    expect(cart().ask(endpoints, HTTP)).toEqual([
      expect.objectContaining({
        addresses: ["10.1.0.1"],
        port: 8080,
        identity: "spiffe://cluster.local/ns/shop/sa/cart",
        namespace: "shop",
        workloadName: "cart-1",
        tlsMode: "disabled",
        cluster: "Kubernetes",
        health: "Healthy",
        labels: { app: "cart", "topology.istio.io/cluster": "Kubernetes" },
      }),
      expect.objectContaining({ addresses: ["10.1.0.2"] }),
    ]);
    expect(cart().ask(endpoints, { service: CART, port: "grpc" })).toEqual([]);
  });

  test("are all that a change of a pod's readiness changes", () => {
    const mesh = cart()
      .apply(serviceYaml("bill"))
      .apply(sliceYaml("bill-a", [{ pod: "cart-1", ip: "10.1.0.1" }], { service: "bill" }));
    const other = { service: "shop/bill.shop.svc.cluster.local", port: "http" };
    const before = [mesh.ask(service, CART), mesh.ask(endpoints, other), mesh.ask(endpoints, HTTP)];
    mesh.apply(podYaml("cart-2", "10.1.0.2", { ready: false })).apply(
      sliceYaml("cart-a", [
        { pod: "cart-1", ip: "10.1.0.1" },
        { pod: "cart-2", ip: "10.1.0.2", conditions: "ready: false, serving: false, terminating: false" },
      ]),
    );
    expect(mesh.ask(service, CART)).toBe(before[0]);
    expect(mesh.ask(endpoints, other)).toBe(before[1]);
    expect(mesh.ask(endpoints, HTTP)).not.toBe(before[2]);
    expect(health(mesh)).toEqual({ "10.1.0.1": "Healthy", "10.1.0.2": "Unhealthy" });
  });

  test("that terminate are terminating, or draining with persistent sessions", () => {
    const ending = sliceYaml("cart-a", [
      { pod: "cart-1", ip: "10.1.0.1", conditions: "ready: false, serving: true, terminating: true" },
    ]);
    const mesh = cart().apply(ending);
    expect(health(mesh)).toEqual({ "10.1.0.1": "Terminating" });
    mesh.apply(serviceYaml("cart", { metadata: "labels: {istio.io/persistent-session: cookie}" }));
    expect(health(mesh)).toEqual({ "10.1.0.1": "Draining" });
    mesh.apply(
      sliceYaml("cart-a", [
        { pod: "cart-1", ip: "10.1.0.1", conditions: "ready: false, serving: false, terminating: true" },
      ]),
    );
    expect(health(mesh)).toEqual({ "10.1.0.1": "Terminating" });
  });

  test("are empty if the Service's exportTo is ~", () => {
    const mesh = cart();
    const exported = (to: string) =>
      mesh
        .apply(serviceYaml("cart", { metadata: `annotations: {networking.istio.io/exportTo: "${to}"}` }))
        .ask(endpoints, HTTP).length;
    expect(exported("other, ~")).toBe(0);
    expect(exported("other")).toBe(2);
  });

  test("are deduplicated across slices", () => {
    const mesh = cart().apply(sliceYaml("cart-b", [{ pod: "cart-2", ip: "10.1.0.2" }]));
    expect(Object.keys(health(mesh))).toEqual(["10.1.0.1", "10.1.0.2"]);
  });

  test("are omitted until the pod that the slice references is known; without a reference no pod is needed", () => {
    const mesh = new Mesh(serviceYaml("cart")).apply(
      sliceYaml("cart-a", [{ pod: "cart-1", ip: "10.1.0.1" }, { ip: "192.0.2.1" }]),
    );
    expect(health(mesh)).toEqual({ "192.0.2.1": "Healthy" });
    expect(mesh.ask(endpoints, HTTP)[0]).toMatchObject({
      identity: "",
      workloadName: "",
      labels: { "topology.istio.io/cluster": "Kubernetes" },
    });
    mesh.apply(podYaml("cart-1", "10.1.0.1"));
    expect(Object.keys(health(mesh))).toEqual(["10.1.0.1", "192.0.2.1"]);
  });

  test("exclude slices of hostnames and of other clusters' services", () => {
    const mesh = cart().apply(sliceYaml("cart-fqdn", [{ ip: "db.example.org" }], { addressType: "FQDN" }));
    expect(mesh.ask(endpoints, HTTP)).toHaveLength(2);
  });

  test("have the locality of the pod's label, else of its node", () => {
    const node = (region: string): string => `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/region: ${region}, topology.kubernetes.io/zone: a, topology.istio.io/subzone: s}}
`;
    const mesh = cart()
      .apply(podYaml("cart-1", "10.1.0.1", { node: "n1" }))
      .apply(podYaml("cart-2", "10.1.0.2", { node: "n1", labels: "app: cart, topology.istio.io/locality: eu.b" }))
      .apply(node("us"));
    const localities = (): readonly string[] => mesh.ask(endpoints, HTTP).map(({ locality }) => locality);
    expect(localities()).toEqual(["us/a/s", "eu/b"]);
    expect(mesh.ask(endpoints, HTTP)[0]?.labels).toMatchObject({
      "topology.kubernetes.io/region": "us",
      "topology.istio.io/subzone": "s",
      "kubernetes.io/hostname": "n1",
    });
    mesh.apply(node("asia"));
    expect(localities()).toEqual(["asia/a/s", "eu/b"]);
  });

  test("have the network of the pod's label, the cluster's system namespace, or MeshNetworks", () => {
    const mesh = cart()
      .apply(podYaml("cart-2", "10.1.0.2", { labels: "app: cart, topology.istio.io/network: lab" }))
      .networks({
        networks: {
          wide: { endpoints: [{ fromCidr: "10.0.0.0/8" }] },
          narrow: { endpoints: [{ fromCidr: "10.1.0.0/16" }] },
        },
      });
    const networks = (): readonly string[] => mesh.ask(endpoints, HTTP).map(({ network }) => network);
    expect(networks()).toEqual(["wide", "lab"]);
    mesh.networks({ networks: { all: { endpoints: [{ fromRegistry: "Kubernetes" }] } } });
    expect(networks()).toEqual(["all", "lab"]);
    mesh.apply(
      "{apiVersion: v1, kind: Namespace, metadata: {name: istio-system, labels: {topology.istio.io/network: main}}}",
    );
    expect(networks()).toEqual(["main", "lab"]);
  });

  test("are merged from all clusters, sorted by cluster", () => {
    const mesh = cart()
      .apply(podYaml("far-1", "10.9.0.1"), "east")
      .apply(sliceYaml("cart-x", [{ pod: "far-1", ip: "10.9.0.1" }]), "east");
    expect(mesh.ask(endpoints, HTTP).map(({ cluster, addresses }) => `${cluster} ${addresses[0]}`)).toEqual([
      "Kubernetes 10.1.0.1",
      "Kubernetes 10.1.0.2",
      "east 10.9.0.1",
    ]);
  });

  test("have addresses of both families if Service and pod have them and dual stack is enabled", () => {
    const mesh = new Mesh(`
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, "fd00::1"], ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop}
spec: {}
status: {phase: Running, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}, {ip: "fd01::1"}]}
`)
      .apply(sliceYaml("v4", [{ pod: "cart-1", ip: "10.1.0.1" }]))
      .apply(sliceYaml("v6", [{ pod: "cart-1", ip: "fd01::1" }], { addressType: "IPv6" }));
    expect(mesh.ask(endpoints, HTTP).map(({ addresses }) => addresses)).toEqual([["10.1.0.1"], ["fd01::1"]]);
    mesh.set("ISTIO_DUAL_STACK", "true");
    expect(mesh.ask(endpoints, HTTP).map(({ addresses }) => addresses)).toEqual([["10.1.0.1", "fd01::1"]]);
  });

  test("of a StatefulSet have the DNS names of their pods", () => {
    const mesh = new Mesh(serviceYaml("cart", { ip: "None" }))
      .apply(podYaml("cart-0", "10.1.0.1", { spec: "subdomain: cart, hostname: cart-0" }))
      .apply(sliceYaml("cart-a", [{ pod: "cart-0", ip: "10.1.0.1" }]));
    expect(mesh.ask(allEndpoints, { service: CART })[0]).toMatchObject({ hostname: "cart-0", subdomain: "cart" });
  });

  test("have the name of the pods' controller as workload name", () => {
    const owned = (kind: string, owner: string, labels: string): string => `
apiVersion: v1
kind: Pod
metadata:
  name: x
  namespace: shop
  generateName: x-
  labels: {app: cart, ${labels}}
  ownerReferences: [{apiVersion: apps/v1, kind: ${kind}, name: ${owner}, controller: true}]
spec: {}
status: {phase: Running, podIP: 10.1.0.1}
`;
    const mesh = new Mesh(serviceYaml("cart")).apply(sliceYaml("cart-a", [{ pod: "x", ip: "10.1.0.1" }]));
    const name = (kind: string, owner: string, labels = "a: b"): string | undefined =>
      mesh.apply(owned(kind, owner, labels)).ask(endpoints, HTTP)[0]?.workloadName;
    expect(name("ReplicaSet", "cart-5c6f", "pod-template-hash: 5c6f")).toBe("cart");
    expect(name("ReplicaSet", "cart-5c6f")).toBe("cart-5c6f");
    expect(name("ReplicaSet", "cart-77", "rollouts-pod-template-hash: '77'")).toBe("cart");
    expect(name("StatefulSet", "cart")).toBe("cart");
    expect(name("Job", "cart-28312345")).toBe("cart");
    expect(name("ReplicationController", "cart-1", "deploymentconfig: cart")).toBe("cart");
    expect(name("StatefulSet", "cart", "service.istio.io/workload-name: basket")).toBe("basket");
  });
});
