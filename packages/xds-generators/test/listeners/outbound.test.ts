import { describe, expect, it } from "vitest";
import { destinationRule, istioYaml, podYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh } from "../mesh.js";
import {
  chainsOf,
  filterNames,
  filterOf,
  httpChain,
  listenerNames,
  listenerOf,
  managerOf,
  tcpProxy,
} from "./listener-parts.js";

const host = "cart.shop.svc.cluster.local";
const captured = ["virtualInbound", "virtualOutbound"];

describe("outbound listeners", () => {
  it("for HTTP exist for each port, on all addresses", () => {
    const proxy = new TestMesh(serviceYaml("cart") + serviceYaml("other", { ip: "10.96.0.2" })).proxy();
    expect(listenerNames(proxy)).toEqual(["0.0.0.0_80", ...captured]);
    const listener = listenerOf(proxy, "0.0.0.0_80");
    expect(listener).toMatchObject({
      bindToPort: false,
      trafficDirection: "OUTBOUND",
      address: { socketAddress: { address: "0.0.0.0", portValue: 80 } },
    });
    expect(managerOf(httpChain(listener))).toMatchObject({
      statPrefix: "outbound_0.0.0.0_80;",
      rds: { routeConfigName: "80", configSource: { ads: {} } },
    });
    expect(listener.defaultFilterChain).toMatchObject({ name: "PassthroughFilterChain" });
    expect(listener.listenerFilters.map(({ name }: { name: string }) => name)).toEqual([
      "envoy.filters.listener.http_inspector",
    ]);
  });

  it("for other protocols exist for each address", () => {
    const proxy = new TestMesh(serviceYaml("db", { ports: ["tcp:5432"] })).proxy();
    expect(listenerNames(proxy)).toEqual(["10.96.0.1_5432", ...captured]);
    const [chain] = chainsOf(listenerOf(proxy, "10.96.0.1_5432"));
    expect(filterOf(chain, tcpProxy)).toMatchObject({ cluster: "outbound|5432||db.shop.svc.cluster.local" });
  });

  it("have stat names by the mesh's pattern, without the target port", () => {
    const mesh = new TestMesh(serviceYaml("db", { ports: ["tcp:5432"] }), {
      outboundClusterStatName: "%SERVICE%_%SERVICE_PORT%_%TARGET_PORT%",
    });
    const [chain] = chainsOf(listenerOf(mesh.proxy(), "10.96.0.1_5432"));
    expect(filterOf(chain, tcpProxy).statPrefix).toMatch(/^db\.shop_5432_0/);
  });

  it("use the DestinationRule of the service that the host resolves to in the scope", () => {
    const entry = serviceEntry(
      "more",
      {
        hosts: [host],
        addresses: ["240.0.0.1"],
        resolution: "STATIC",
        ports: [{ number: 93, name: "tcp", protocol: "TCP" }],
        endpoints: [{ address: "192.0.2.1" }],
      },
      "other",
    );
    const rule = destinationRule(host, { trafficPolicy: { connectionPool: { tcp: { idleTimeout: "7s" } } } }, "other");
    const idle = (mesh: TestMesh): unknown =>
      filterOf(chainsOf(listenerOf(mesh.proxy(), "240.0.0.1_93"))[0], tcpProxy).idleTimeout;
    expect(idle(new TestMesh(entry + rule))).toBe("7s");
    // The Service is not exported to its own namespace, but a route there brings it into the scope.
    const service = serviceYaml("cart", { annotations: { "networking.istio.io/exportTo": "other" } });
    const route = istioYaml("VirtualService", "cart", {
      hosts: [host],
      http: [{ route: [{ destination: { host } }] }],
    });
    expect(idle(new TestMesh(entry + rule + service + route))).toBeUndefined();
  });

  it("detect undeclared protocols, with route configurations of their own", () => {
    const listener = listenerOf(new TestMesh(serviceYaml("cart", { ports: ["web:9000"] })).proxy(), "10.96.0.1_9000");
    expect(managerOf(httpChain(listener)).rds.routeConfigName).toBe(`${host}:9000`);
    expect(filterOf(listener.defaultFilterChain, tcpProxy).cluster).toBe(`outbound|9000||${host}`);
  });

  it("mix HTTP and TCP at one port and address", () => {
    const anywhere = serviceEntry("raw", {
      hosts: ["raw.example.com"],
      resolution: "NONE",
      ports: [{ number: 80, name: "tcp", protocol: "TCP" }],
    });
    const listener = listenerOf(new TestMesh(serviceYaml("cart") + anywhere).proxy(), "0.0.0.0_80");
    expect(httpChain(listener).filterChainMatch).toMatchObject({ applicationProtocols: ["http/1.1", "h2c"] });
    expect(filterOf(listener.defaultFilterChain, tcpProxy).cluster).toBe("outbound|80||raw.example.com");
  });

  it("do not mix MySQL with other protocols, since it is server-first", () => {
    const anywhere = (name: string, protocol: string): string =>
      serviceEntry(name, {
        hosts: [`${name}.example.com`],
        resolution: "NONE",
        ports: [{ number: 3306, name: protocol.toLowerCase(), protocol }],
      });
    const proxy = new TestMesh(anywhere("a", "MySQL") + anywhere("b", "HTTP")).proxy();
    expect(chainsOf(listenerOf(proxy, "0.0.0.0_3306")).map(filterNames).flat()).not.toContain(
      "envoy.filters.network.http_connection_manager",
    );
  });

  it("match TLS hosts by SNI if the service has no address", () => {
    const entry = (name: string): string =>
      serviceEntry(name, {
        hosts: [`${name}.example.com`],
        resolution: "DNS",
        location: "MESH_EXTERNAL",
        ports: [{ number: 443, name: "tls", protocol: "TLS" }],
      });
    const listener = listenerOf(new TestMesh(entry("a") + entry("b")).proxy(), "0.0.0.0_443");
    const bySni = Object.fromEntries(
      listener.filterChains.map((chain: never) => [
        (chain as { filterChainMatch: { serverNames: string[] } }).filterChainMatch.serverNames[0],
        filterOf(chain, tcpProxy).cluster,
      ]),
    );
    expect(bySni).toEqual({
      "a.example.com": "outbound|443||a.example.com",
      "b.example.com": "outbound|443||b.example.com",
    });
    expect(listener.listenerFilters[0].name).toBe("envoy.filters.listener.tls_inspector");
  });

  it("match address ranges", () => {
    const entry = serviceEntry("net", {
      hosts: ["net.example.com"],
      addresses: ["10.9.0.0/16"],
      resolution: "NONE",
      ports: [{ number: 7000, name: "tcp", protocol: "TCP" }],
    });
    const [chain] = chainsOf(listenerOf(new TestMesh(entry).proxy(), "0.0.0.0_7000"));
    expect(chain.filterChainMatch.prefixRanges).toEqual([{ addressPrefix: "10.9.0.0", prefixLen: 16 }]);
  });

  describe("of a headless service", () => {
    const headless = serviceYaml("db", { ip: "None", ports: ["tcp:5432"] });
    const pods =
      podYaml("db", "10.2.0.1", { ports: { tcp: 5432 } }) + podYaml("db", "10.2.0.2", { ports: { tcp: 5432 } });

    it("bind to its pods, except the client itself", () => {
      const mesh = new TestMesh(headless + pods);
      expect(listenerNames(mesh.proxy())).toEqual(["10.2.0.1_5432", "10.2.0.2_5432", ...captured]);
      expect(listenerNames(mesh.proxy({ name: "db-10-2-0-1", ip: "10.2.0.1" }))).toEqual([
        "10.2.0.2_5432",
        ...captured,
      ]);
    });

    it("are one with a chain per pod under PILOT_ENABLE_HEADLESS_FILTER_CHAIN_LISTENER", () => {
      const proxy = new TestMesh(headless + pods).set("PILOT_ENABLE_HEADLESS_FILTER_CHAIN_LISTENER", "true").proxy();
      const ranges = listenerOf(proxy, "0.0.0.0_5432").filterChains.map(
        (chain: never) =>
          (chain as { filterChainMatch: { prefixRanges: { addressPrefix: string }[] } }).filterChainMatch
            .prefixRanges[0]?.addressPrefix,
      );
      expect(ranges).toEqual(["10.2.0.1", "10.2.0.2"]);
    });
  });

  it("omit ports of the bootstrap", () => {
    const metadata = { ENVOY_STATUS_PORT: 15021, ENVOY_PROMETHEUS_PORT: 15090 };
    const mesh = new TestMesh(serviceYaml("cart", { ports: ["http:15021", "http-b:15001", "http-c:80"] }));
    expect(listenerNames(mesh.proxy({ metadata }))).toEqual(["0.0.0.0_80", ...captured]);
  });

  it("bind to both families of a dual-stack client", () => {
    const service = serviceYaml("cart", {
      spec: { clusterIPs: ["10.96.0.1", "2001:db8::1"], ipFamilyPolicy: "PreferDualStack" },
    });
    const proxy = new TestMesh(service)
      .set("ISTIO_DUAL_STACK", "true")
      .proxy({ metadata: { INSTANCE_IPS: "10.1.0.1,2001:db8:1::1" } });
    expect(listenerOf(proxy, "0.0.0.0_80").additionalAddresses).toEqual([
      { address: { socketAddress: { address: "::", portValue: 80 } } },
    ]);
  });
});

describe("a VirtualService", () => {
  const route = (host: string, weight: number): object => ({ destination: { host, port: { number: 5432 } }, weight });

  it("splits connections by weight", () => {
    const split = istioYaml("VirtualService", "db", {
      hosts: ["db"],
      tcp: [{ route: [route("db", 90), route("db-new", 10)] }],
    });
    const services =
      serviceYaml("db", { ports: ["tcp:5432"] }) + serviceYaml("db-new", { ip: "10.96.0.2", ports: ["tcp:5432"] });
    const [chain] = chainsOf(listenerOf(new TestMesh(services + split).proxy(), "10.96.0.1_5432"));
    expect(filterOf(chain, tcpProxy)).toMatchObject({
      statPrefix: "db.shop",
      weightedClusters: {
        clusters: [
          { name: "outbound|5432||db.shop.svc.cluster.local", weight: 90 },
          { name: "outbound|5432||db-new.shop.svc.cluster.local", weight: 10 },
        ],
      },
    });
    expect(chain.metadata.filterMetadata.istio.config).toBe(
      "/apis/networking.istio.io/v1/namespaces/shop/virtual-service/db",
    );
  });

  it("routes TLS by SNI, with the first match of a host", () => {
    const tls = (sni: string, to: string): object => ({
      match: [{ port: 443, sniHosts: [sni] }],
      route: [{ destination: { host: to, port: { number: 443 } } }],
    });
    const entry = serviceEntry("all", {
      hosts: ["*.example.com"],
      addresses: ["10.99.0.1"],
      resolution: "NONE",
      ports: [{ number: 443, name: "tls", protocol: "TLS" }],
    });
    const rules = [tls("a.example.com", "first"), tls("a.example.com", "second"), tls("b.example.com", "second")];
    const mesh = new TestMesh(entry + istioYaml("VirtualService", "tls", { hosts: ["*.example.com"], tls: rules }));
    const chains: { filterChainMatch: { serverNames: string[] } }[] = listenerOf(
      mesh.proxy(),
      "10.99.0.1_443",
    ).filterChains;
    expect(chains.map((chain) => [chain.filterChainMatch.serverNames, filterOf(chain, tcpProxy).cluster])).toEqual([
      [["a.example.com"], "outbound|443||first.shop.svc.cluster.local"],
      [["b.example.com"], "outbound|443||second.shop.svc.cluster.local"],
    ]);
  });

  it("applies to the workloads in its matches", () => {
    const match = [{ sourceLabels: { app: "web" } }];
    const vs = istioYaml("VirtualService", "db", {
      hosts: ["db"],
      tcp: [{ match, route: [{ destination: { host: "other", port: { number: 5432 } } }] }],
    });
    const mesh = new TestMesh(
      serviceYaml("db", { ports: ["tcp:5432"] }) + serviceYaml("other", { ip: "10.96.0.2", ports: ["tcp:5432"] }) + vs,
    );
    const clusterFor = (app: string): string =>
      filterOf(chainsOf(listenerOf(mesh.proxy({ labels: { app } }), "10.96.0.1_5432"))[0], tcpProxy).cluster;
    expect(clusterFor("web")).toContain("other");
    expect(clusterFor("api")).toContain("db.shop");
  });
});

describe("an egress listener of a Sidecar", () => {
  const sidecar = (egress: readonly object[], rest: object = {}): string =>
    istioYaml("Sidecar", "default", { egress, ...rest });

  it("reserves its port for the services that it names", () => {
    const services = serviceYaml("cart") + serviceYaml("other", { ip: "10.96.0.2", ports: ["http:80", "tcp:9000"] });
    const mesh = new TestMesh(
      services +
        sidecar([
          { port: { number: 80, protocol: "HTTP", name: "http" }, hosts: ["./cart.shop.svc.cluster.local"] },
          { hosts: ["*/*"] },
        ]),
    );
    expect(listenerNames(mesh.proxy())).toEqual(["0.0.0.0_80", "10.96.0.2_9000", ...captured]);
  });

  it("binds to its own address without capture", () => {
    const egress = [
      {
        port: { number: 9080, protocol: "HTTP", name: "http" },
        bind: "127.0.0.1",
        captureMode: "NONE",
        hosts: ["./*"],
      },
    ];
    const listener = listenerOf(
      new TestMesh(serviceYaml("cart", { ports: ["http:9080"] }) + sidecar(egress)).proxy(),
      "127.0.0.1_9080",
    );
    expect(listener.bindToPort).toBeUndefined();
    expect(listener.maxConnectionsToAcceptPerSocketEvent).toBe(1);
  });

  it("drops unknown traffic under REGISTRY_ONLY", () => {
    const mesh = new TestMesh(
      serviceYaml("cart") + sidecar([{ hosts: ["./*"] }], { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } }),
    );
    const catchAll = chainsOf(listenerOf(mesh.proxy(), "virtualOutbound")).find(
      ({ name }) => name === "virtualOutbound-catchall-tcp",
    );
    expect(filterOf(catchAll, tcpProxy)).toMatchObject({ statPrefix: "BlackHoleCluster", cluster: "BlackHoleCluster" });
  });
});

describe("a client without redirection", () => {
  it("has listeners on loopback and none for capture", () => {
    const proxy = new TestMesh(serviceYaml("cart")).proxy({ metadata: { INTERCEPTION_MODE: "NONE" } });
    expect(listenerNames(proxy)).toEqual(["127.0.0.1_80"]);
  });
});

describe("the generic HTTP proxy", () => {
  it("listens if the node says so, and accepts absolute URLs", () => {
    const proxy = new TestMesh(serviceYaml("cart")).proxy({ metadata: { HTTP_PROXY_PORT: "15007" } });
    const manager = managerOf(httpChain(listenerOf(proxy, "127.0.0.1_15007")));
    expect(manager).toMatchObject({
      rds: { routeConfigName: "http_proxy" },
      httpProtocolOptions: { allowAbsoluteUrl: true },
    });
  });

  it("listens by mesh configuration if the node's port is invalid, and not at all if it is 0", () => {
    const mesh = new TestMesh("", { proxyHttpPort: 15080 });
    const portsFor = (stated: string): string[] =>
      listenerNames(mesh.proxy({ metadata: { HTTP_PROXY_PORT: stated } })).filter((name) => !captured.includes(name));
    expect(["", "15007x", "1e4", "-1", "70000"].map(portsFor)).toEqual(Array(5).fill(["127.0.0.1_15080"]));
    expect(portsFor("0")).toEqual([]);
  });
});

describe("traffic capture", () => {
  it("is transparent under TPROXY", () => {
    const proxy = new TestMesh().proxy({ metadata: { INTERCEPTION_MODE: "TPROXY" } });
    for (const name of captured) expect(listenerOf(proxy, name).transparent).toBe(true);
    expect(listenerOf(proxy, "virtualInbound").listenerFilters.map(({ name }: { name: string }) => name)).toContain(
      "envoy.filters.listener.original_src",
    );
  });
});

describe("an IPv6-only client", () => {
  it("also listens on IPv4 if configured, with or without dual stack", () => {
    const mesh = new TestMesh(serviceYaml("cart")).set("ISTIO_ENABLE_IPV4_OUTBOUND_LISTENER_FOR_IPV6_CLUSTERS", "true");
    const extra = (ip: string): string[] =>
      (listenerOf(mesh.proxy({ ip }), "virtualOutbound").additionalAddresses ?? []).map(
        ({ address }: Json) => address.socketAddress.address,
      );
    expect([extra("fd00::1"), extra("10.1.0.1")]).toEqual([["0.0.0.0"], []]);
    mesh.set("ISTIO_DUAL_STACK", "true");
    expect([extra("fd00::1"), extra("10.1.0.1"), extra("10.1.0.1,fd00::1")]).toEqual([["0.0.0.0"], [], ["::"]]);
  });
});

describe("ALLOW_ANY_DYNAMIC_DNS", () => {
  const config = { outboundTrafficPolicy: { mode: "ALLOW_ANY_DYNAMIC_DNS" } };

  it("forwards requests to the resolved hosts, and passes other bytes through", () => {
    const listener = listenerOf(new TestMesh(serviceYaml("cart"), config).proxy(), "virtualOutbound");
    const [, http, rest] = chainsOf(listener);
    expect(http).toMatchObject({
      name: "virtualOutbound-catchall-tcp-http",
      filterChainMatch: { applicationProtocols: ["http/1.1", "h2c"] },
    });
    const requests = managerOf(http);
    expect(requests.routeConfig.virtualHosts[0]).toMatchObject({
      domains: ["*"],
      routes: [{ route: { cluster: "AllowAnyDynamicDNSCluster" } }],
    });
    expect(requests.httpFilters.at(-2).typedConfig.dnsCacheConfig).toMatchObject({
      name: "allow_any_dfp_dns_cache",
      maxHosts: 1024,
    });
    expect(filterOf(rest, tcpProxy).cluster).toBe("PassthroughCluster");
    expect(listener.listenerFilters.map(({ name }: { name: string }) => name)).toEqual([
      "envoy.filters.listener.http_inspector",
    ]);
  });
});

describe("an ExternalName service", () => {
  it("has no listener of its own, and its names belong to its target's", () => {
    const target = serviceEntry("api", {
      hosts: ["api.example.com"],
      resolution: "DNS",
      location: "MESH_EXTERNAL",
      ports: [{ number: 443, name: "tls", protocol: "TLS" }],
    });
    const alias = serviceYaml("api", {
      ip: "",
      ports: ["tls:443"],
      spec: { type: "ExternalName", externalName: "api.example.com", selector: undefined },
    });
    const proxy = new TestMesh(target + alias).proxy();
    expect(listenerNames(proxy)).toEqual(["0.0.0.0_443", ...captured]);
    const [chain] = listenerOf(proxy, "0.0.0.0_443").filterChains;
    expect(chain.filterChainMatch.serverNames).toEqual([
      "api",
      "api.example.com",
      "api.shop",
      "api.shop.svc",
      "api.shop.svc.cluster.local",
      "api.shop.svc.cluster.local.",
    ]);
  });
});
