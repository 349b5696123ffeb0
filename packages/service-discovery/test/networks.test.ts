import { describe, expect, test } from "vitest";
import {
  gatewaysTo,
  gatewayWeightScale,
  hasNetworkGateways,
  isClusterLocal,
  networkGateways,
  resolvedHosts,
} from "@istiod/service-discovery";
import { Mesh } from "./mesh.js";

function gatewayYaml(name: string, ip: string, labels = "topology.istio.io/network: far"): string {
  return `---
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: istio-system, labels: {${labels}}}
spec: {type: LoadBalancer, clusterIP: 10.0.0.9, ports: [{name: tls, port: 15443}, {name: alt, port: 16000}]}
status: {loadBalancer: {ingress: [{ip: ${ip}}]}}
`;
}

const gateway = { network: "far", cluster: "Kubernetes", port: 15443, hbonePort: 0 };

describe("gateways of networks", () => {
  test("are Services with a network label, at the annotated port", () => {
    const mesh = new Mesh(gatewayYaml("a", "203.0.113.2")).apply(
      gatewayYaml("b", "203.0.113.1", "topology.istio.io/network: far, networking.istio.io/gatewayPort: '16000'"),
    );
    expect(mesh.ask(networkGateways)).toEqual([
      { ...gateway, address: "203.0.113.1", port: 16000 },
      { ...gateway, address: "203.0.113.2" },
    ]);
    mesh.apply(gatewayYaml("a", "203.0.113.2", "topology.istio.io/network: far, networking.istio.io/gatewayPort: '1'"));
    expect(mesh.ask(networkGateways)).toHaveLength(1);
  });

  test("are Services of the root namespace, and of namespaces that are configured", () => {
    const elsewhere = gatewayYaml("a", "203.0.113.2").replaceAll("istio-system", "evil");
    const addresses = (variables: Record<string, string>, rootNamespace = "istio-system") => {
      const mesh = new Mesh(elsewhere).apply(gatewayYaml("b", "203.0.113.1")).meshConfig({ rootNamespace });
      for (const [name, value] of Object.entries(variables)) mesh.set(name, value);
      return mesh.ask(networkGateways).map(({ address }) => address);
    };
    expect(addresses({})).toEqual(["203.0.113.1"]);
    expect(addresses({ ISTIOD_NETWORK_GATEWAY_NAMESPACES: "other" })).toEqual(["203.0.113.1"]);
    for (const value of ["evil", "other,evil", "*"])
      expect(addresses({ ISTIOD_NETWORK_GATEWAY_NAMESPACES: value })).toHaveLength(2);
    expect(addresses({}, "evil")).toHaveLength(2);
  });

  test("are Gateways of the Gateway API with a network label, at each address and listener for other networks", () => {
    const resource = (namespace: string, spec: object, name = "peer"): string => `---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: ${name}, namespace: ${namespace}, labels: {topology.istio.io/network: far}}
spec: ${JSON.stringify({ gatewayClassName: "istio-remote", ...spec })}
`;
    const listeners = [
      { name: "mtls", port: 15443, protocol: "TLS", tls: { mode: "Passthrough" } },
      { name: "hbone", port: 15008, protocol: "HBONE" },
      { name: "web", port: 80, protocol: "HTTP" },
    ];
    const addresses = [{ value: "203.0.113.2" }, { type: "Hostname", value: "far.example.com" }];
    const mesh = new Mesh(resource("istio-system", { listeners, addresses }));
    const at = (address: string) => [
      { ...gateway, address, port: 15008, hbonePort: 15008 },
      { ...gateway, address, port: 15443 },
    ];
    expect(mesh.ask(networkGateways)).toEqual([...at("203.0.113.2"), ...at("far.example.com")]);
    mesh.apply(resource("istio-system", { listeners: listeners.slice(0, 1), addresses: addresses.slice(0, 1) }));
    expect(mesh.ask(networkGateways)).toEqual([{ ...gateway, address: "203.0.113.2" }]);
    // Gateways of other namespaces take no part of the traffic to a network, like Services.
    mesh.apply(resource("evil", { listeners, addresses: [{ value: "203.0.113.66" }] }, "thief"));
    expect(mesh.ask(networkGateways)).toHaveLength(1);
    expect(mesh.set("ISTIOD_NETWORK_GATEWAY_NAMESPACES", "evil").ask(networkGateways)).toHaveLength(3);
    expect(mesh.set("PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API", "false").ask(networkGateways)).toEqual([]);
  });

  test("that others add by label take no part of the traffic to a network", () => {
    const mesh = new Mesh(gatewayYaml("a", "203.0.113.2"));
    const before = mesh.ask(gatewaysTo, { network: "far", cluster: "any", form: "resolved" });
    mesh.apply(`---
apiVersion: v1
kind: Service
metadata: {name: thief, namespace: evil, labels: {topology.istio.io/network: far}}
spec: {clusterIP: 10.0.0.8, externalIPs: [203.0.113.66], ports: [{name: tls, port: 15443}]}
`);
    expect(mesh.ask(gatewaysTo, { network: "far", cluster: "any", form: "resolved" })).toBe(before);
    expect(before).toHaveLength(1);
  });

  test("are declared in MeshNetworks by address, or by a Service in the network's clusters", () => {
    const mesh = new Mesh(gatewayYaml("a", "203.0.113.2", "x: other")).networks({
      networks: {
        far: {
          endpoints: [{ fromRegistry: "Kubernetes" }],
          gateways: [{ registryServiceName: "a.istio-system.svc.cluster.local", port: 15443 }],
        },
        near: { gateways: [{ address: "198.51.100.1", port: 443 }] },
      },
    });
    expect(mesh.ask(networkGateways)).toEqual([
      { network: "near", cluster: "", address: "198.51.100.1", port: 443, hbonePort: 0 },
      { ...gateway, address: "203.0.113.2" },
    ]);
  });

  test("with hostnames are used once resolved, or unresolved for DNS clusters", () => {
    const mesh = new Mesh().networks({ networks: { far: { gateways: [{ address: "gw.example.org", port: 443 }] } } });
    expect(mesh.ask(hasNetworkGateways, "unresolved")).toBe(true);
    expect(mesh.ask(hasNetworkGateways, "resolved")).toBe(false);
    mesh.db.commit((tx) => tx.set(resolvedHosts, "gw.example.org", ["203.0.113.9"]));
    expect(mesh.ask(gatewaysTo, { network: "far", cluster: "any", form: "resolved" })).toMatchObject([
      { address: "203.0.113.9" },
    ]);
    mesh.set("RESOLVE_HOSTNAME_GATEWAYS", "false");
    expect(mesh.ask(hasNetworkGateways, "resolved")).toBe(false);
  });

  test("are those of an endpoint's cluster, else of its network; weights are divisible among any of them", () => {
    const mesh = new Mesh(gatewayYaml("a", "203.0.113.1"))
      .apply(gatewayYaml("b", "203.0.113.2"), "east")
      .apply(gatewayYaml("c", "203.0.113.3"), "east");
    const to = (cluster: string): readonly string[] =>
      mesh.ask(gatewaysTo, { network: "far", cluster, form: "resolved" }).map(({ address }) => address);
    expect(to("east")).toEqual(["203.0.113.2", "203.0.113.3"]);
    expect(to("Kubernetes")).toEqual(["203.0.113.1"]);
    expect(to("west")).toHaveLength(3);
    expect(mesh.ask(gatewayWeightScale, "resolved")).toBe(6);
  });
});

describe("cluster-local services", () => {
  const local = (mesh: Mesh, host: string): boolean => mesh.ask(isClusterLocal, host);

  test("are those of kube-system, the API server and istiod by default", () => {
    const mesh = new Mesh();
    expect(local(mesh, "kube-dns.kube-system.svc.cluster.local")).toBe(true);
    expect(local(mesh, "kubernetes.default.svc.cluster.local")).toBe(true);
    expect(local(mesh, "istiod.istio-system.svc.cluster.local")).toBe(true);
    expect(local(mesh, "cart.shop.svc.cluster.local")).toBe(false);
  });

  test("follow the most specific setting", () => {
    const mesh = new Mesh().meshConfig({
      serviceSettings: [
        { settings: { clusterLocal: true }, hosts: ["*.shop.svc.cluster.local"] },
        {
          settings: { clusterLocal: false },
          hosts: ["cart.shop.svc.cluster.local", "*.kube-system.svc.cluster.local"],
        },
      ],
    });
    expect(local(mesh, "bill.shop.svc.cluster.local")).toBe(true);
    expect(local(mesh, "cart.shop.svc.cluster.local")).toBe(false);
    expect(local(mesh, "kube-dns.kube-system.svc.cluster.local")).toBe(false);
  });
});
