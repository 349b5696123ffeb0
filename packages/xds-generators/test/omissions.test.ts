import { hostsWithDuplicateSubsets } from "@istiod/push-context";
import { expect, it } from "vitest";
import { emptyAssignments, omissions } from "../src/index.js";
import { TestMesh, type TestProxy } from "./mesh.js";

const found = (proxy: TestProxy) => proxy.view.call(omissions);

const entry = (name: string, spec: string, namespace = "shop"): string => `---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: ${namespace}}
spec: ${spec}
`;
const service = (name: string, ports: string, more = ""): string => `---
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: shop}
spec: {selector: {app: ${name}}, ports: ${ports}${more}}
`;

it("reports nothing if nothing is omitted", () => {
  const mesh = new TestMesh(service("cart", "[{name: http, port: 80}]", ", clusterIP: 10.1.0.1"));
  expect(found(mesh.proxy())).toEqual({
    duplicateClusters: [],
    dnsClustersWithoutEndpoints: [],
    duplicateDomains: [],
    conflictingOutboundListeners: [],
    listenerConflicts: [],
    hasInboundConflict: false,
    cannotAnnounceHttp: false,
    skippedPatches: [],
    unservedProviders: [],
  });
});

it("reports clusters of two ports with one number, and DNS clusters without endpoints", () => {
  const mesh = new TestMesh(
    service(
      "dns",
      "[{name: tcp, port: 53}, {name: udp, port: 53, protocol: UDP}, {name: sctp, port: 53, protocol: SCTP}]",
      ", clusterIP: 10.1.0.1",
    ) +
      entry(
        "empty",
        "{hosts: [b.example.org], ports: [{name: http, number: 80, protocol: HTTP}], workloadSelector: {labels: {app: none}}, resolution: DNS}",
      ),
  );
  expect(found(mesh.proxy())).toMatchObject({
    duplicateClusters: ["outbound|53||dns.shop.svc.cluster.local"],
    dnsClustersWithoutEndpoints: ["outbound|80||b.example.org"],
  });
  mesh.apply(service("dns", "[{name: tcp, port: 53}, {name: udp, port: 53, protocol: UDP}]", ", clusterIP: 10.1.0.1"));
  expect(found(mesh.proxy()).duplicateClusters).toEqual([]);
});

it("reports load assignments without endpoints", () => {
  const slice = `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
endpoints: [{addresses: [10.0.1.1]}]
ports: [{name: http, port: 8080}]
`;
  const mesh = new TestMesh(
    service("cart", "[{name: http, port: 80}, {name: other, port: 81}]", ", clusterIP: 10.1.0.1") + slice,
  );
  expect(emptyAssignments(mesh.proxy().set("envoy.config.endpoint.v3.ClusterLoadAssignment"))).toEqual([
    "outbound|81||cart.shop.svc.cluster.local",
  ]);
});

it("reports duplicate virtual hosts", () => {
  const virtualService = (name: string, hosts: string): string => `---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ${name}, namespace: shop}
spec: {hosts: ${hosts}, http: [{route: [{destination: {host: cart}}]}]}
`;
  const mesh = new TestMesh(
    service("cart", "[{name: http, port: 80}]", ", clusterIP: 10.1.0.1") +
      virtualService("a", "[x.example.com]") +
      virtualService("b", "[x.example.com, cart]"),
  );
  expect(found(mesh.proxy()).duplicateDomains).toEqual(["x.example.com:80"]);
});

it("reports conflicting TCP services, and conflicting protocols of a workload's port", () => {
  const mesh = new TestMesh(
    entry(
      "one",
      "{hosts: [a.example.com], ports: [{name: tcp, number: 9000, protocol: TCP}], resolution: STATIC, endpoints: [{address: 1.1.1.1}]}",
    ) +
      entry(
        "two",
        "{hosts: [b.example.com], ports: [{name: tcp, number: 9000, protocol: TCP}], resolution: STATIC, endpoints: [{address: 2.2.2.2}]}",
      ) +
      service("cart", "[{name: http, port: 80, targetPort: 8080}]", ", clusterIP: 10.1.0.1").replace(
        "selector: {app: cart}",
        "selector: {app: web}",
      ) +
      service("raw", "[{name: tcp, port: 81, targetPort: 8080}]", ", clusterIP: 10.1.0.2").replace(
        "selector: {app: raw}",
        "selector: {app: web}",
      ),
  );
  expect(found(mesh.proxy({ labels: { app: "web" } }))).toMatchObject({
    hasInboundConflict: true,
    conflictingOutboundListeners: ["0.0.0.0_9000"],
  });
  expect(found(mesh.proxy({ labels: { app: "other" } })).hasInboundConflict).toBe(false);
});

it("reports hosts with duplicate subsets, in all forms of the host", () => {
  const rule = (name: string, host: string, subset: string): string => `---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: ${name}, namespace: shop}
spec: {host: ${host}, subsets: [{name: ${subset}, labels: {v: ${subset}}}]}
`;
  const mesh = new TestMesh(
    rule("a", "cart", "v1") +
      rule("b", "cart.shop.svc.cluster.local", "v1") +
      rule("c", "till", "v1") +
      rule("d", "till", "v2"),
  );
  expect(mesh.proxy().view.call(hostsWithDuplicateSubsets)).toEqual(["cart.shop.svc.cluster.local"]);
});
