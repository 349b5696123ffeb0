import { describe, expect, test } from "vitest";
import { aliasesOf, service, serviceOrder } from "@istiod/service-discovery";
import { Mesh, serviceYaml } from "./mesh.js";

const CART = "shop/cart.shop.svc.cluster.local";

describe("Kubernetes Services", () => {
  test("have their DNS name, address and ports", () => {
    const cart = new Mesh(serviceYaml("cart")).ask(service, CART);
    expect(cart).toMatchObject({
      id: CART,
      hostname: "cart.shop.svc.cluster.local",
      registry: "Kubernetes",
      resolution: "ClientSideLB",
      defaultAddress: "10.0.0.1",
      clusterAddresses: { Kubernetes: ["10.0.0.1"] },
      ports: [{ name: "http", number: 80, protocol: "HTTP" }],
      selector: { app: "cart" },
      exportTo: [],
      trafficDistribution: "Any",
    });
  });

  test("have the mesh's domain", () => {
    const mesh = new Mesh(serviceYaml("cart")).set("DOMAIN_SUFFIX", "example.org");
    expect(mesh.ask(service, CART)).toBeUndefined();
    expect(mesh.ask(service, "shop/cart.shop.svc.example.org")?.hostname).toBe("cart.shop.svc.example.org");
  });

  test("without a cluster IP are headless, and ExternalName ones are aliases", () => {
    const mesh = new Mesh(serviceYaml("cart", { ip: "None" })).apply(`
apiVersion: v1
kind: Service
metadata: {name: old, namespace: shop}
spec: {type: ExternalName, externalName: older.shop.svc.cluster.local}
---
apiVersion: v1
kind: Service
metadata: {name: older, namespace: shop}
spec: {type: ExternalName, externalName: cart.shop.svc.cluster.local}
---
apiVersion: v1
kind: Service
metadata: {name: loop-a, namespace: shop}
spec: {type: ExternalName, externalName: loop-b.shop.svc.cluster.local}
---
apiVersion: v1
kind: Service
metadata: {name: loop-b, namespace: shop}
spec: {type: ExternalName, externalName: loop-a.shop.svc.cluster.local}
`);
    expect(mesh.ask(service, CART)).toMatchObject({ resolution: "Passthrough", defaultAddress: "0.0.0.0" });
    expect(mesh.ask(service, "shop/old.shop.svc.cluster.local")).toMatchObject({
      resolution: "Alias",
      meshExternal: true,
    });
    expect(mesh.ask(aliasesOf, "cart.shop.svc.cluster.local")).toEqual([
      "shop/old.shop.svc.cluster.local",
      "shop/older.shop.svc.cluster.local",
    ]);
    expect(mesh.ask(aliasesOf, "loop-a.shop.svc.cluster.local")).toEqual([]);
  });

  test("have exportTo, identities and traffic distribution from annotations", () => {
    const mesh = new Mesh(`
apiVersion: v1
kind: Namespace
metadata: {name: shop, annotations: {networking.istio.io/traffic-distribution: PreferClose}}
`)
      .apply(
        serviceYaml("cart", {
          metadata: `annotations: {networking.istio.io/exportTo: "., pay", alpha.istio.io/kubernetes-serviceaccounts: "a,b"}`,
        }),
      )
      .apply(serviceYaml("near", { spec: "trafficDistribution: PreferSameNode, internalTrafficPolicy: Local" }));
    expect(mesh.ask(service, CART)).toMatchObject({
      exportTo: [".", "pay"],
      declaredIdentities: ["spiffe://cluster.local/ns/shop/sa/a", "spiffe://cluster.local/ns/shop/sa/b"],
      trafficDistribution: "PreferSameZone",
    });
    expect(mesh.ask(service, "shop/near.shop.svc.cluster.local")).toMatchObject({
      trafficDistribution: "PreferSameNode",
      nodeLocal: true,
    });
  });

  test("with one name in several clusters are one service with an address in each", () => {
    const mesh = new Mesh(serviceYaml("cart")).apply(
      serviceYaml("cart", { ip: "10.9.0.1", spec: "publishNotReadyAddresses: true" }),
      "east",
    );
    expect(mesh.ask(service, CART)).toMatchObject({
      clusterAddresses: { Kubernetes: ["10.0.0.1"], east: ["10.9.0.1"] },
      defaultAddress: "10.0.0.1",
      publishNotReadyAddresses: false,
    });
    mesh.remove(serviceYaml("cart"));
    expect(mesh.ask(service, CART)).toMatchObject({
      clusterAddresses: { east: ["10.9.0.1"] },
      defaultAddress: "10.9.0.1",
    });
  });

  test("have external addresses of load balancers, or of the nodes that an annotation selects", () => {
    const mesh = new Mesh(`
apiVersion: v1
kind: Service
metadata: {name: gate, namespace: shop}
spec: {type: LoadBalancer, clusterIP: 10.0.0.2, ports: [{name: tls, port: 15443}]}
status: {loadBalancer: {ingress: [{ip: 203.0.113.1}, {hostname: lb.example.org}]}}
---
apiVersion: v1
kind: Service
metadata: {name: door, namespace: shop, annotations: {traffic.istio.io/nodeSelector: '{"edge":"yes"}'}}
spec: {type: NodePort, clusterIP: 10.0.0.3, ports: [{name: tls, port: 15443, nodePort: 32000}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {edge: "yes"}}
status: {addresses: [{type: InternalIP, address: 192.168.0.1}, {type: ExternalIP, address: 198.51.100.1}]}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
status: {addresses: [{type: ExternalIP, address: 198.51.100.2}]}
`);
    expect(mesh.ask(service, "shop/gate.shop.svc.cluster.local")?.externalAddresses).toEqual({
      Kubernetes: ["203.0.113.1", "lb.example.org"],
    });
    expect(mesh.ask(service, "shop/door.shop.svc.cluster.local")).toMatchObject({
      externalAddresses: { Kubernetes: ["198.51.100.1"] },
      externalPorts: { Kubernetes: { 15443: 32000 } },
    });
  });

  test("are ordered by age, then name, then namespace", () => {
    const mesh = new Mesh(serviceYaml("b"))
      .apply(serviceYaml("a", { ns: "z" }))
      .apply(serviceYaml("a"))
      .apply(serviceYaml("old", { created: "2020-01-01T00:00:00Z" }));
    expect(mesh.ask(serviceOrder).map((id) => id.replace(".svc.cluster.local", ""))).toEqual([
      "shop/old.shop",
      "shop/a.shop",
      "z/a.z",
      "shop/b.shop",
    ]);
  });

  test("are discovered only in namespaces that discoverySelectors select", () => {
    const mesh = new Mesh(serviceYaml("cart"))
      .apply(serviceYaml("bill", { ns: "pay" }))
      .apply("{apiVersion: v1, kind: Namespace, metadata: {name: pay, labels: {mesh: 'on'}}}")
      .meshConfig({ discoverySelectors: [{ matchLabels: { mesh: "on" } }] });
    expect(mesh.ask(serviceOrder)).toEqual(["pay/bill.pay.svc.cluster.local"]);
    mesh.apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {mesh: 'on'}}}");
    expect(mesh.ask(serviceOrder)).toContain(CART);
  });
});
