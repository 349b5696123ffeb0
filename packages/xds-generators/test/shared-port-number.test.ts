import { describe, expect, it } from "vitest";
import { istioYaml, podYaml, serviceYaml } from "./mesh-yaml.js";
import { clusterType, type Json, TestMesh } from "./mesh.js";
import { RouteMesh } from "./routes/route-mesh.js";

const endpointType = "envoy.config.endpoint.v3.ClusterLoadAssignment";
const edge = "outbound|443||edge.shop.svc.cluster.local";

// As for HTTP/3 gateways and DNS servers: a UDP port with the number of a TCP port, declared first.
const service = serviceYaml("edge", { ports: ["udp-quic:443:9443", "http-web:443:8443", "http:80:8080"] });
const pod = podYaml("edge", "10.0.0.7", { ports: { "udp-quic": 9443, "http-web": 8443, http: 8080 } });

describe("a port number shared by UDP and TCP means the TCP port", () => {
  it("in clusters and their endpoints", () => {
    const proxy = new TestMesh(
      serviceYaml("edge", { ports: ["udp-quic:443:9443", "detected:443:8443"] }) +
        podYaml("edge", "10.0.0.7", { ports: { "udp-quic": 9443, detected: 8443 } }),
    ).proxy();
    expect(proxy.names(clusterType).filter((name) => name.includes("edge"))).toEqual([edge]);
    expect(JSON.stringify(proxy.cluster(edge))).toContain("useDownstreamProtocolConfig");
    const { endpoints } = proxy.json(endpointType, edge) as Json;
    expect(endpoints[0].lbEndpoints[0].endpoint.address.socketAddress.portValue).toBe(8443);
  });

  it("in routes", () => {
    const mesh = new RouteMesh(service + pod);
    expect(mesh.sidecar().hosts("443")["edge.shop.svc.cluster.local:443"]?.routes).toMatchObject([
      { route: { cluster: edge } },
    ]);
  });

  it("if a scope imports only some of a service's ports", () => {
    const routed = istioYaml(
      "VirtualService",
      "front",
      {
        hosts: ["front.example.com"],
        http: [{ route: [{ destination: { host: "edge.shop.svc.cluster.local", port: { number: 443 } } }] }],
      },
      "web",
    );
    const own = istioYaml("Sidecar", "default", { egress: [{ hosts: ["./*"] }] }, "web");
    const proxy = new TestMesh(service + pod + routed + own).proxy({ namespace: "web" });
    expect(proxy.names(clusterType).filter((name) => name.includes("edge"))).toEqual([edge]);
    const { endpoints } = proxy.json(endpointType, edge) as Json;
    expect(endpoints[0].lbEndpoints[0].endpoint.address.socketAddress.portValue).toBe(8443);
  });
});
