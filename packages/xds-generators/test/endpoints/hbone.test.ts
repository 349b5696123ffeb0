import { describe, expect, it } from "vitest";
import { podYaml, serviceYaml } from "../mesh-yaml.js";
import { type Json, type ProxyOptions, TestMesh } from "../mesh.js";

const endpointType = "envoy.config.endpoint.v3.ClusterLoadAssignment";
const cart = "outbound|80||cart.shop.svc.cluster.local";
const labels = { "networking.istio.io/tunnel": "http" };

/** A mesh in ambient mode with a service of one pod. */
function ambient(pod: string, variables: Readonly<Record<string, string>> = {}): TestMesh {
  const mesh = new TestMesh(serviceYaml("cart") + pod);
  for (const [name, value] of Object.entries({ PILOT_ENABLE_AMBIENT: "true", ...variables })) mesh.set(name, value);
  return mesh;
}

const endpointOf = (mesh: TestMesh, options: ProxyOptions = {}): Json =>
  mesh.proxy(options).json(endpointType, cart).endpoints[0].lbEndpoints[0];
const address = (mesh: TestMesh, options: ProxyOptions = {}): Json => endpointOf(mesh, options).endpoint.address;

const tunnelled = { envoyInternalAddress: { serverListenerName: "connect_originate", endpointId: "10.2.0.1:8080" } };
const direct = { socketAddress: { address: "10.2.0.1", portValue: 8080 } };
const prefer = { PILOT_PREFER_SENDING_HBONE: "true" };
/** A captured, ready pod in ambient mode. */
const captured = (state = "enabled"): string =>
  podYaml("cart", "10.2.0.1", { injected: false }).replace(
    '"labels":{"app":"cart"}',
    `"labels":{"app":"cart"},"annotations":{"ambient.istio.io/redirection":"${state}"}`,
  );

describe("endpoints that accept HBONE tunnels", () => {
  it("have the address connect_originate, with the destination in their metadata", () => {
    const endpoint = endpointOf(ambient(podYaml("cart", "10.2.0.1", { labels }), prefer));
    expect(endpoint.endpoint.address).toEqual(tunnelled);
    expect(endpoint.metadata.filterMetadata).toMatchObject({
      "envoy.filters.listener.original_dst": { local: "10.2.0.1:8080" },
      "envoy.transport_socket_match": { tunnel: "http" },
    });
    expect(endpoint.metadata.filterMetadata["envoy.transport_socket_match"]).not.toHaveProperty("tlsMode");
  });

  it("are reached by mutual TLS if they accept it and tunnels are not preferred", () => {
    const endpoint = endpointOf(ambient(podYaml("cart", "10.2.0.1", { labels })));
    expect(endpoint.endpoint.address).toEqual(direct);
    expect(endpoint.metadata.filterMetadata["envoy.transport_socket_match"]).toEqual({ tlsMode: "istio" });
    expect(address(ambient(podYaml("cart", "10.2.0.1", { labels, injected: false })))).toEqual(tunnelled);
  });

  it("are not reached through listeners that the client does not have", () => {
    const pod = podYaml("cart", "10.2.0.1", { labels });
    expect(address(ambient(pod, { ...prefer, PILOT_ENABLE_SENDING_HBONE: "false" }))).toEqual(direct);
    expect(address(ambient(pod, { ...prefer, PILOT_ENABLE_AMBIENT: "false" }))).toEqual(direct);
    expect(address(ambient(pod, prefer), { metadata: { DISABLE_HBONE_SEND: "true" } })).toEqual(direct);
  });

  it("include pods captured by their node's proxy, in ambient mode", () => {
    expect(address(ambient(captured()))).toEqual(tunnelled);
    expect(address(ambient(captured("pending")))).toEqual(direct);
    expect(address(ambient(captured(), { PILOT_ENABLE_AMBIENT: "false" }))).toEqual(direct);
    expect(address(ambient(captured().replace('"spec":{', '"spec":{"hostNetwork":true,')))).toEqual(direct);
    expect(ambient(captured()).proxy().cluster(cart).metadata.filterMetadata.istio.disable_mx).toBe(true);
  });

  it("include a pod that is captured later", () => {
    const mesh = ambient(podYaml("cart", "10.2.0.1", { injected: false }));
    expect(address(mesh)).toEqual(direct);
    mesh.apply(captured());
    expect(address(mesh)).toEqual(tunnelled);
  });
});

describe("clusters for HBONE tunnels", () => {
  const socketsOf = (mesh: TestMesh): Json[] => mesh.proxy().cluster(cart).transportSocketMatches;

  it("connect to port 15008 of the original destination, over HTTP/2 and mutual TLS", () => {
    const cluster = ambient("").proxy().cluster("connect_originate");
    expect(cluster).toMatchObject({
      type: "ORIGINAL_DST",
      originalDstLbConfig: { upstreamPortOverride: 15008 },
      lbPolicy: "CLUSTER_PROVIDED",
    });
    const { commonTlsContext } = cluster.transportSocket.typedConfig;
    expect(commonTlsContext.alpnProtocols).toEqual(["h2"]);
    expect(commonTlsContext.tlsCertificateSdsSecretConfigs[0].name).toBe("default");
    expect(commonTlsContext.combinedValidationContext.defaultValidationContext.matchTypedSubjectAltNames).toEqual([
      { sanType: "URI", matcher: { prefix: "spiffe://cluster.local/" } },
    ]);
  });

  it("exist for the clients that use them", () => {
    const names = (metadata: NonNullable<ProxyOptions["metadata"]>): string[] =>
      ambient("")
        .proxy({ metadata })
        .names("envoy.config.cluster.v3.Cluster")
        .filter((name) => /connect_|internal/.test(name));
    expect(names({})).toEqual(["connect_originate"]);
    expect(names({ ENABLE_HBONE: "true" })).toEqual(["connect_originate", "main_internal"]);
    expect(names({ ENABLE_HBONE: "true", DISABLE_HBONE_SEND: "true" })).toEqual(["main_internal"]);
  });

  it("pass the destination to the internal listener in their transport socket", () => {
    const [hbone] = socketsOf(ambient(podYaml("cart", "10.2.0.1", { labels }), prefer));
    expect(hbone).toMatchObject({
      name: "hbone",
      match: { tunnel: "http" },
      transportSocket: { name: "envoy.transport_sockets.internal_upstream" },
    });
    expect(hbone.transportSocket.typedConfig.passthroughMetadata).toEqual([
      { kind: { host: {} }, name: "envoy.filters.listener.original_dst" },
      { kind: { cluster: {} }, name: "istio" },
      { kind: { host: {} }, name: "istio" },
    ]);
    expect(hbone.transportSocket.typedConfig.transportSocket.typedConfig["@type"]).toContain("RawBuffer");
  });
});
