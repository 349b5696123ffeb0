import { describe, expect, it } from "vitest";
import { istioYaml, podYaml, serviceYaml } from "./mesh-yaml.js";
import { clusterType, type TestProxy } from "./mesh.js";
import { RouteMesh } from "./routes/route-mesh.js";

const host = "names.shop.svc.cluster.local";
const assignmentType = "envoy.config.endpoint.v3.ClusterLoadAssignment";
/** As for cluster DNS: a UDP port, declared first, with the number of a TCP port. */
const names =
  serviceYaml("names", { ports: ["udp:53:5353", "http-names:53:8053"] }) +
  podYaml("names", "10.2.0.1", { ports: { udp: 5353, "http-names": 8053 } });
const only = (...hosts: string[]): string => istioYaml("Sidecar", "default", { egress: [{ hosts }] });

function portsOf(proxy: TestProxy): number[] {
  const { endpoints } = proxy.json(assignmentType, `outbound|53||${host}`) as {
    endpoints: { lbEndpoints: { endpoint: { address: { socketAddress: { portValue: number } } } }[] }[];
  };
  return endpoints.flatMap(({ lbEndpoints }) =>
    lbEndpoints.map(({ endpoint }) => endpoint.address.socketAddress.portValue),
  );
}

describe("a service with a UDP port and a TCP port of one number", () => {
  it("is reached at the TCP port", () => {
    const mesh = new RouteMesh(names);
    const proxy = mesh.proxy();
    expect(proxy.names(clusterType).filter((name) => name.startsWith("outbound"))).toEqual([`outbound|53||${host}`]);
    expect(portsOf(proxy)).toEqual([8053]);
    expect(Object.keys(mesh.sidecar().hosts("53"))).toContain(`${host}:53`);
  });

  it("has the protocol of the TCP port", () => {
    const mesh = new RouteMesh(serviceYaml("names", { ports: ["udp:53", "grpc:53"] }));
    expect(JSON.stringify(mesh.proxy().cluster(`outbound|53||${host}`).typedExtensionProtocolOptions)).toContain(
      "http2ProtocolOptions",
    );
  });

  it("has both if a route to that number imports it", () => {
    const more = serviceYaml("names", { ports: ["udp:53:5353", "http-names:53:8053", "http-admin:9000"] });
    const route = istioYaml("VirtualService", "cart", {
      hosts: ["cart"],
      http: [{ route: [{ destination: { host: "names", port: { number: 53 } } }] }],
    });
    const mesh = new RouteMesh(
      more +
        podYaml("names", "10.2.0.1", { ports: { "http-names": 8053 } }) +
        serviceYaml("cart", { ip: "10.96.0.2" }) +
        route +
        only("./cart.shop.svc.cluster.local"),
    );
    expect(
      mesh
        .proxy()
        .names(clusterType)
        .filter((name) => name.includes(host)),
    ).toEqual([`outbound|53||${host}`]);
    expect(portsOf(mesh.proxy())).toEqual([8053]);
  });

  it("has no virtual host at a UDP-only number", () => {
    const mesh = new RouteMesh(
      serviceYaml("names", { ports: ["udp:53", "http:80"] }) +
        serviceYaml("other", { ip: "10.96.0.2", ports: ["http:53"] }),
    );
    expect(Object.keys(mesh.sidecar().hosts("53"))).toEqual(["other.shop.svc.cluster.local:53", "allow_any"]);
  });
});
