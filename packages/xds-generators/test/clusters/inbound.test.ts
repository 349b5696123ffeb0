import { describe, expect, it } from "vitest";
import { destinationRule, istioYaml, podYaml, serviceYaml } from "../mesh-yaml.js";
import { clusterType, type Json, type ProxyOptions, TestMesh } from "../mesh.js";

const web =
  serviceYaml("web", { ports: ["http:80:8080", "tcp:90:9090"] }) +
  podYaml("web", "10.1.0.1", { ports: { http: 8080, tcp: 9090 } });
const options: ProxyOptions = { ip: "10.1.0.1", name: "web-10-1-0-1" };
const inbound = (names: readonly string[]): string[] => names.filter((name) => name.startsWith("inbound|"));

function sidecar(spec: object): string {
  return istioYaml("Sidecar", "default", { egress: [{ hosts: ["*/*"] }], ...spec });
}

describe("inbound clusters", () => {
  it("exist for each workload port that a service targets", () => {
    const proxy = new TestMesh(web + serviceYaml("other")).proxy(options);
    expect(inbound(proxy.names(clusterType))).toEqual(["inbound|8080||", "inbound|9090||"]);
    expect(proxy.cluster("inbound|8080||")).toMatchObject({
      type: "ORIGINAL_DST",
      lbPolicy: "CLUSTER_PROVIDED",
      cleanupInterval: "9223372035s",
      upstreamBindConfig: { sourceAddress: { address: "127.0.0.6", portValue: 0 } },
      metadata: {
        filterMetadata: {
          istio: { services: [{ host: "web.shop.svc.cluster.local", name: "web", namespace: "shop" }] },
        },
      },
    });
  });

  it("list all services of the port in their metadata", () => {
    const both = web + serviceYaml("web2", { ports: ["http:80:8080"], spec: { selector: { app: "web" } } });
    const { services } = new TestMesh(both).proxy(options).cluster("inbound|8080||").metadata.filterMetadata.istio;
    expect(services.map(({ name }: Json) => name)).toEqual(["web", "web2"]);
  });

  it("list a service with several addresses once", () => {
    const spec = {
      hosts: ["web.internal"],
      addresses: ["240.1.1.1", "240.1.1.2"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      endpoints: [{ address: "10.1.0.1" }],
    };
    const { services } = new TestMesh(istioYaml("ServiceEntry", "web", spec)).proxy(options).cluster("inbound|80||")
      .metadata.filterMetadata.istio;
    expect(services).toEqual([{ host: "web.internal", name: "web.internal", namespace: "shop" }]);
  });

  it("connect to loopback if the mesh's inbound traffic policy says so", () => {
    const proxy = new TestMesh(web, { inboundTrafficPolicy: { mode: "LOCALHOST" } }).proxy(options);
    const cluster = proxy.cluster("inbound|8080||");
    expect(cluster.type).toBe("STATIC");
    expect(cluster.loadAssignment.endpoints[0].lbEndpoints[0].endpoint.address).toEqual({
      socketAddress: { address: "127.0.0.1", portValue: 8080 },
    });
    expect(cluster.upstreamBindConfig).toBeUndefined();
  });

  it("do not exist without redirection and without ingress listeners", () => {
    expect(
      inbound(new TestMesh(web).proxy({ ...options, metadata: { INTERCEPTION_MODE: "NONE" } }).names(clusterType)),
    ).toEqual([]);
  });

  it("have the connection pool of a DestinationRule without workloadSelector, and not its TLS", () => {
    const trafficPolicy = {
      connectionPool: { tcp: { maxConnections: 3 } },
      tls: { mode: "ISTIO_MUTUAL" },
      outlierDetection: {},
    };
    const cluster = new TestMesh(web + destinationRule("web.shop.svc.cluster.local", { trafficPolicy }))
      .proxy(options)
      .cluster("inbound|8080||");
    expect(cluster.circuitBreakers.thresholds[0].maxConnections).toBe(3);
    expect(cluster.metadata.filterMetadata.istio.config).toContain("destination-rule/web-shop-svc-cluster-local");
    expect(cluster.transportSocket ?? cluster.outlierDetection).toBeUndefined();
    const selecting = destinationRule("web.shop.svc.cluster.local", {
      trafficPolicy,
      workloadSelector: { matchLabels: { app: "web" } },
    });
    expect(
      new TestMesh(web + selecting).proxy(options).cluster("inbound|8080||").circuitBreakers.thresholds[0]
        .maxConnections,
    ).toBe(4294967295);
  });

  it("have stat names by the mesh's pattern", () => {
    const proxy = new TestMesh(web, { inboundClusterStatName: "%SERVICE%_%TARGET_PORT%" }).proxy(options);
    expect(proxy.cluster("inbound|8080||").altStatName).toBe("web.shop_8080;");
  });

  it("bind source addresses of both families on dual-stack proxies", () => {
    const mesh = new TestMesh(web);
    const source = (ips: string): Json =>
      mesh.proxy({ ...options, metadata: { INSTANCE_IPS: ips } }).cluster("InboundPassthroughCluster")
        .upstreamBindConfig;
    expect(source("10.1.0.1")).toEqual({ sourceAddress: { address: "127.0.0.6", portValue: 0 } });
    expect(source("fd00::1")).toEqual({ sourceAddress: { address: "::6", portValue: 0 } });
    expect(source("10.1.0.1,fd00::1").extraSourceAddresses).toEqual([{ address: { address: "::6", portValue: 0 } }]);
    const of8080 = (): Json =>
      mesh.proxy({ ...options, metadata: { INSTANCE_IPS: "10.1.0.1,fd00::1" } }).cluster("inbound|8080||")
        .upstreamBindConfig;
    expect(of8080().extraSourceAddresses).toBeUndefined();
    mesh.set("ISTIO_DUAL_STACK", "true");
    expect(of8080().extraSourceAddresses).toHaveLength(1);
  });
});

describe("ingress listeners of a Sidecar", () => {
  const listener = (number: number, defaultEndpoint = "", more: object = {}): object => ({
    port: { number, protocol: "HTTP", name: `http-${number}` },
    defaultEndpoint,
    ...more,
  });

  it("replace the services' ports", () => {
    const mesh = new TestMesh(web + sidecar({ ingress: [listener(7000, "127.0.0.1:8080")] }));
    const proxy = mesh.proxy(options);
    expect(inbound(proxy.names(clusterType))).toEqual(["inbound|7000||"]);
    expect(
      proxy.cluster("inbound|7000||").loadAssignment.endpoints[0].lbEndpoints[0].endpoint.address.socketAddress,
    ).toEqual({ address: "127.0.0.1", portValue: 8080 });
    expect(proxy.cluster("inbound|7000||").metadata).toBeUndefined();
    mesh.set("PILOT_ALLOW_SIDECAR_SERVICE_INBOUND_LISTENER_MERGE", "true");
    expect(inbound(proxy.names(clusterType))).toEqual(["inbound|7000||", "inbound|8080||", "inbound|9090||"]);
  });

  it.each([
    ["0.0.0.0:8080", { socketAddress: { address: "10.1.0.1", portValue: 8080 } }],
    ["unix:///run/web.sock", { pipe: { path: "/run/web.sock" } }],
    ["[::1]:8080", { socketAddress: { address: "127.0.0.1", portValue: 8080 } }],
  ])("connect to %s", (endpoint, address) => {
    const cluster = new TestMesh(web + sidecar({ ingress: [listener(7000, endpoint)] }))
      .proxy(options)
      .cluster("inbound|7000||");
    expect(cluster.loadAssignment.endpoints[0].lbEndpoints[0].endpoint.address).toEqual(address);
  });

  it("without a default endpoint connect to the original destination, with the service of the port", () => {
    const cluster = new TestMesh(web + sidecar({ ingress: [listener(8080)] })).proxy(options).cluster("inbound|8080||");
    expect(cluster.type).toBe("ORIGINAL_DST");
    expect(cluster.metadata.filterMetadata.istio.services[0].name).toBe("web");
  });

  it("have the listener's connection pool, or else the Sidecar's, before a DestinationRule's", () => {
    const pool = (maxConnections: number): object => ({ tcp: { maxConnections } });
    const rule = destinationRule("web.shop.svc.cluster.local", { trafficPolicy: { connectionPool: pool(1) } });
    const ingress = [listener(8080, "", { connectionPool: pool(5) }), listener(9090)];
    const proxy = new TestMesh(web + rule + sidecar({ ingress, inboundConnectionPool: pool(4) })).proxy(options);
    expect(
      ["8080", "9090"].map((port) => proxy.cluster(`inbound|${port}||`).circuitBreakers.thresholds[0].maxConnections),
    ).toEqual([5, 4]);
  });
});
