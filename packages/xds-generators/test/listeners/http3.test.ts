import { describe, expect, it } from "vitest";
import { istioYaml, podYaml, serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh } from "../mesh.js";
import { listenerNames, listenerOf, managerOf } from "./listener-parts.js";

const router = {
  type: "router",
  namespace: "edge",
  name: "door-10-9-0-1",
  ip: "10.9.0.1",
  labels: { app: "door" },
} as const;
const gateway = (servers: readonly object[]): string =>
  istioYaml("Gateway", "front", { selector: { app: "door" }, servers }, "edge");
const https = (host: string, mode = "SIMPLE", more: object = {}): object => ({
  port: { number: 443, name: `https-${host.split(".")[0]}`, protocol: "HTTPS" },
  hosts: [host],
  tls: { mode, ...(mode === "PASSTHROUGH" || mode === "ISTIO_MUTUAL" ? {} : { credentialName: `cert-${host}` }) },
  ...more,
});
const door = (ports: readonly string[] = ["https:443:8443", "udp-quic:443:8443"]): string =>
  serviceYaml("door", { namespace: "edge", ports }) +
  podYaml("door", "10.9.0.1", { namespace: "edge", ports: { https: 8443 } });
const routes = (host: string): string =>
  istioYaml("VirtualService", "site", {
    hosts: [host],
    gateways: ["edge/front"],
    http: [{ route: [{ destination: { host: "site" } }] }],
  });
const routesOf = (mesh: TestMesh, name: string): Json[] =>
  mesh
    .proxy(router)
    .json("envoy.config.route.v3.RouteConfiguration", name)
    .virtualHosts.flatMap((host: Json) => host.routes);
const mesh = (yaml: string): TestMesh => new TestMesh(door() + yaml).set("PILOT_ENABLE_QUIC_LISTENERS", "true");

describe("HTTP/3 at a gateway", () => {
  it("is served on UDP in addition to HTTPS, with the same certificate and routes", () => {
    const proxy = mesh(gateway([https("a.example.com")])).proxy(router);
    expect(listenerNames(proxy)).toEqual(["0.0.0.0_8443", "udp_0.0.0.0_8443"]);
    const listener = listenerOf(proxy, "udp_0.0.0.0_8443");
    expect(listener).toMatchObject({
      address: { socketAddress: { protocol: "UDP", address: "0.0.0.0", portValue: 8443 } },
      udpListenerConfig: { quicOptions: {}, downstreamSocketConfig: {} },
      trafficDirection: "OUTBOUND",
    });
    expect(listener.listenerFilters).toBeUndefined();
    const [chain] = listener.filterChains;
    expect(chain.filterChainMatch).toEqual({ serverNames: ["a.example.com"] });
    expect(chain.transportSocket).toMatchObject({
      name: "envoy.transport_sockets.quic",
      typedConfig: {
        downstreamTlsContext: {
          commonTlsContext: {
            alpnProtocols: ["h3"],
            tlsCertificateSdsSecretConfigs: [{ name: "kubernetes://cert-a.example.com" }],
          },
          requireClientCertificate: false,
        },
      },
    });
    expect(managerOf(chain)).toMatchObject({
      codecType: "HTTP3",
      http3ProtocolOptions: {},
      statPrefix: "outbound_udp_0.0.0.0_8443;",
      rds: { routeConfigName: "https.443.https-a.front.edge" },
    });
    expect(managerOf(listenerOf(proxy, "0.0.0.0_8443").filterChains[0]).codecType).toBeUndefined();
  });

  it("is advertised in responses, with the port that clients use", () => {
    const shown = mesh(gateway([https("a.example.com")]) + routes("a.example.com"));
    expect(routesOf(shown, "https.443.https-a.front.edge")[0].responseHeadersToAdd).toEqual([
      { header: { key: "alt-svc", value: 'h3=":443"; ma=86400' } },
    ]);
  });

  it("is not advertised unless served", () => {
    const plain = { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["a.example.com"] };
    const shown = mesh(gateway([https("a.example.com"), plain]) + routes("a.example.com"));
    expect(routesOf(shown, "http.80")[0].responseHeadersToAdd).toBeUndefined();
  });

  it("has a chain for each server that terminates TLS, and none for passthrough", () => {
    const proxy = mesh(
      gateway([https("a.example.com"), https("b.example.com", "MUTUAL"), https("c.example.com", "PASSTHROUGH")]),
    ).proxy(router);
    const names = listenerOf(proxy, "udp_0.0.0.0_8443").filterChains.map(
      (chain: Json) => chain.filterChainMatch.serverNames[0],
    );
    expect(names).toEqual(["a.example.com", "b.example.com"]);
  });

  it("requires no client certificate, which Envoy does not support", () => {
    const proxy = mesh(gateway([https("a.example.com", "MUTUAL")])).proxy(router);
    const context = (name: string): Json => listenerOf(proxy, name).filterChains[0].transportSocket.typedConfig;
    expect(context("0.0.0.0_8443").requireClientCertificate).toBe(true);
    expect(context("udp_0.0.0.0_8443").downstreamTlsContext.requireClientCertificate).toBe(false);
  });

  it("requires a UDP port with the same number on the gateway's Service", () => {
    const without = new TestMesh(
      door(["https:443:8443", "udp-other:444:8443"]) + gateway([https("a.example.com")]),
    ).set("PILOT_ENABLE_QUIC_LISTENERS", "true");
    expect(listenerNames(without.proxy(router))).toEqual(["0.0.0.0_8443"]);
  });

  it("requires PILOT_ENABLE_QUIC_LISTENERS", () => {
    const unset = new TestMesh(door() + gateway([https("a.example.com")]) + routes("a.example.com"));
    expect(listenerNames(unset.proxy(router))).toEqual(["0.0.0.0_8443"]);
    expect(routesOf(unset, "https.443.https-a.front.edge")[0].responseHeadersToAdd).toBeUndefined();
  });

  it("has neither PROXY protocol nor connection balancing, unlike TCP", () => {
    const behind = mesh(gateway([https("a.example.com")])).configure({
      defaultConfig: { gatewayTopology: { proxyProtocol: {} } },
    });
    const proxy = behind.proxy({ ...router, metadata: { OUTBOUND_LISTENER_EXACT_BALANCE: "true" } });
    expect(listenerOf(proxy, "0.0.0.0_8443")).toMatchObject({ connectionBalanceConfig: {}, listenerFilters: [{}, {}] });
    expect(listenerOf(proxy, "udp_0.0.0.0_8443").connectionBalanceConfig).toBeUndefined();
    expect(listenerOf(proxy, "udp_0.0.0.0_8443").listenerFilters).toBeUndefined();
  });

  it("listens on both families on dual-stack proxies", () => {
    const both = mesh(gateway([https("a.example.com")])).set("ISTIO_DUAL_STACK", "true");
    const proxy = both.proxy({ ...router, metadata: { INSTANCE_IPS: "10.9.0.1,fd00::9" } });
    expect(listenerOf(proxy, "udp_0.0.0.0_8443").additionalAddresses).toEqual([
      { address: { socketAddress: { protocol: "UDP", address: "::", portValue: 8443 } } },
    ]);
  });
});
