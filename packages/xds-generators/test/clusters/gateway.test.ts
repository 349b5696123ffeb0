import { describe, expect, it } from "vitest";
import { destinationRule, istioYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { clusterType, TestMesh } from "../mesh.js";

const router = { type: "router", namespace: "istio-system", name: "ingress", labels: { istio: "ingress" } } as const;
const gateway = (servers: readonly object[]): string =>
  istioYaml("Gateway", "gateway", { selector: { istio: "ingress" }, servers }, "istio-system");

describe("clusters of a gateway", () => {
  it("are those of services and BlackHoleCluster", () => {
    expect(new TestMesh(serviceYaml("cart")).proxy(router).names(clusterType)).toEqual([
      "BlackHoleCluster",
      "outbound|80||cart.shop.svc.cluster.local",
    ]);
  });

  it("include SNI-DNAT clusters for AUTO_PASSTHROUGH, without TLS and without mesh-external services", () => {
    const server = {
      port: { number: 15443, name: "tls", protocol: "TLS" },
      tls: { mode: "AUTO_PASSTHROUGH" },
      hosts: ["*.local"],
    };
    const external = serviceEntry("api", {
      hosts: ["api.example.com"],
      location: "MESH_EXTERNAL",
      resolution: "DNS",
      ports: [{ number: 443, name: "tls", protocol: "TLS" }],
    });
    const subsets = [{ name: "v1", labels: { version: "v1" } }];
    const mesh = new TestMesh(
      serviceYaml("cart") +
        external +
        gateway([server]) +
        destinationRule("cart.shop.svc.cluster.local", { subsets, trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } }),
    );
    const proxy = mesh.proxy(router);
    expect(proxy.names(clusterType).filter((name) => name.startsWith("outbound_"))).toEqual([
      "outbound_.80_._.cart.shop.svc.cluster.local",
      "outbound_.80_.v1_.cart.shop.svc.cluster.local",
    ]);
    const cluster = proxy.cluster("outbound_.80_.v1_.cart.shop.svc.cluster.local");
    expect(cluster.transportSocket ?? cluster.transportSocketMatches).toBeUndefined();
    expect(cluster.edsClusterConfig.serviceName).toBe("outbound_.80_.v1_.cart.shop.svc.cluster.local");
  });

  it("with SNI-DNAT names use EDS, even for DYNAMIC_DNS services", () => {
    const server = {
      port: { number: 15443, name: "tls", protocol: "TLS" },
      tls: { mode: "AUTO_PASSTHROUGH" },
      hosts: ["*.local"],
    };
    const dynamic = serviceEntry("any", {
      hosts: ["*.example.com"],
      location: "MESH_INTERNAL",
      resolution: "DYNAMIC_DNS",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    });
    const proxy = new TestMesh(gateway([server]) + dynamic).proxy(router);
    expect(proxy.cluster("outbound_.80_._.*.example.com").type).toBe("EDS");
    expect(proxy.names("envoy.config.endpoint.v3.ClusterLoadAssignment")).toEqual(["outbound_.80_._.*.example.com"]);
  });

  describe("under PILOT_FILTER_GATEWAY_CLUSTER_CONFIG", () => {
    const http = { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] };
    const route = (host: string): string =>
      istioYaml("VirtualService", "routes", {
        hosts: ["www.example.com"],
        gateways: ["istio-system/gateway"],
        http: [{ route: [{ destination: { host } }] }],
      });
    const outbound = (mesh: TestMesh): string[] =>
      mesh
        .proxy(router)
        .names(clusterType)
        .filter((name) => name.startsWith("outbound"));

    it("are those referenced by its routes, and follow edits of the routes", () => {
      const mesh = new TestMesh(serviceYaml("cart") + serviceYaml("other") + gateway([http]) + route("cart")).set(
        "PILOT_FILTER_GATEWAY_CLUSTER_CONFIG",
        "true",
      );
      expect(outbound(mesh)).toEqual(["outbound|80||cart.shop.svc.cluster.local"]);
      mesh.apply(route("other"));
      expect(outbound(mesh)).toEqual(["outbound|80||other.shop.svc.cluster.local"]);
      expect(mesh.proxy().names(clusterType)).toContain("outbound|80||cart.shop.svc.cluster.local");
    });

    it("include those of the mesh's extension providers", () => {
      const provider = { name: "authz", envoyExtAuthzGrpc: { service: "shop/other.shop.svc.cluster.local", port: 80 } };
      const mesh = new TestMesh(serviceYaml("cart") + serviceYaml("other"), { extensionProviders: [provider] }).set(
        "PILOT_FILTER_GATEWAY_CLUSTER_CONFIG",
        "true",
      );
      expect(outbound(mesh)).toEqual(["outbound|80||other.shop.svc.cluster.local"]);
    });
  });
});
