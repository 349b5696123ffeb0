import { describe, expect, it } from "vitest";
import { destinationRule, peerAuthentication, podYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { clusterType, type Json, TestMesh } from "../mesh.js";

const cart = "outbound|80||cart.shop.svc.cluster.local";
const own = ["BlackHoleCluster", "InboundPassthroughCluster", "PassthroughCluster"];

describe("clusters of a service", () => {
  it("exist for each port except UDP, and use EDS under their own name", () => {
    const proxy = new TestMesh(serviceYaml("cart", { ports: ["http:80:8080", "grpc:90", "udp-dns:53"] })).proxy();
    expect(proxy.names(clusterType)).toEqual([...own, cart, "outbound|90||cart.shop.svc.cluster.local"]);
    expect(proxy.cluster(cart)).toMatchObject({
      type: "EDS",
      edsClusterConfig: {
        serviceName: cart,
        edsConfig: { ads: {}, initialFetchTimeout: "0s", resourceApiVersion: "V3" },
      },
      altStatName: `${cart};`,
      lbPolicy: "LEAST_REQUEST",
      connectTimeout: "10s",
      metadata: {
        filterMetadata: {
          istio: { services: [{ host: "cart.shop.svc.cluster.local", name: "cart", namespace: "shop" }] },
        },
      },
    });
  });

  it("have the protocol of the TCP port if a UDP port has the same number", () => {
    const name = "outbound|70||dns.shop.svc.cluster.local";
    const options = (ports: readonly string[]) =>
      new TestMesh(serviceYaml("dns", { ports })).proxy().cluster(name).typedExtensionProtocolOptions;
    expect(JSON.stringify(options(["udp-dns:70", "unnamed:70"]))).toContain("useDownstreamProtocolConfig");
    expect(options(["udp-dns:70", "tcp-dns:70"])).toBeUndefined();
    const mesh = new TestMesh(
      serviceYaml("dns", { ports: ["udp-dns:70", "tcp-dns:70"] }) +
        podYaml("dns", "10.1.0.1", { ports: { "udp-dns": 53, "tcp-dns": 5353 } }),
    );
    const [group] = mesh.proxy().json("envoy.config.endpoint.v3.ClusterLoadAssignment", name).endpoints;
    expect(group.lbEndpoints).toMatchObject([{ endpoint: { address: { socketAddress: { portValue: 5353 } } } }]);
  });

  it("outside the mesh are marked as external, unless tunnels lead there", () => {
    const external = (labels: object) =>
      serviceEntry("ext", {
        hosts: ["ext.test"],
        location: "MESH_EXTERNAL",
        resolution: "STATIC",
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        endpoints: [{ address: "192.0.2.1", labels }],
      });
    const istio = (labels: object) =>
      new TestMesh(external(labels)).proxy().cluster("outbound|80||ext.test").metadata.filterMetadata.istio;
    expect(istio({})).toMatchObject({ external: true });
    expect(istio({ "networking.istio.io/tunnel": "http" })).toMatchObject({ disable_mx: true });
    expect(istio({ "networking.istio.io/tunnel": "http" })).not.toHaveProperty("external");
  });

  it("have no connection limits, and disable Envoy's panic mode", () => {
    const cluster = new TestMesh(serviceYaml("cart")).proxy().cluster(cart);
    const max = 4294967295;
    expect(cluster.circuitBreakers.thresholds).toEqual([
      { maxConnections: max, maxPendingRequests: max, maxRequests: max, maxRetries: max },
    ]);
    expect(cluster.commonLbConfig).toEqual({ healthyPanicThreshold: {} });
  });

  it("use HTTP/2 if the port declares it, and the downstream protocol if undeclared; gateways use HTTP/1.1", () => {
    const mesh = new TestMesh(serviceYaml("cart", { ports: ["http:80", "grpc:90", "unnamed:70"] }));
    const options = (type: "sidecar" | "router", port: number) =>
      mesh.proxy({ type }).cluster(`outbound|${port}||cart.shop.svc.cluster.local`).typedExtensionProtocolOptions?.[
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
      ];
    expect(options("sidecar", 80)).toBeUndefined();
    expect(options("sidecar", 90)).toMatchObject({ explicitHttpConfig: { http2ProtocolOptions: {} } });
    expect(options("sidecar", 70)).toMatchObject({
      useDownstreamProtocolConfig: { httpProtocolOptions: {}, http2ProtocolOptions: {} },
    });
    expect(options("router", 70)).toBeUndefined();
  });

  it("preserve the case of HTTP/1.1 headers if the proxy's configuration says so", () => {
    const mesh = new TestMesh(serviceYaml("cart", { ports: ["http:80", "tcp:90"] }), {
      defaultConfig: { proxyHeaders: { preserveHttp1HeaderCase: true } },
    });
    const text = (name: string): string => JSON.stringify(mesh.proxy().cluster(name));
    expect(text(cart)).toContain("PreserveCaseFormatterConfig");
    expect(text("outbound|90||cart.shop.svc.cluster.local")).not.toContain("PreserveCaseFormatterConfig");
    expect(text("PassthroughCluster")).toContain("PreserveCaseFormatterConfig");
  });

  it("have stat names by the mesh's pattern", () => {
    const mesh = new TestMesh(
      serviceYaml("cart") + destinationRule("cart", { subsets: [{ name: "v1", labels: { version: "v1" } }] }),
      {
        outboundClusterStatName:
          "%SERVICE%_%SERVICE_NAME%_%SERVICE_FQDN%_%SERVICE_PORT%_%SERVICE_PORT_NAME%_%SUBSET_NAME%",
      },
    );
    expect(mesh.proxy().cluster("outbound|80|v1|cart.shop.svc.cluster.local").altStatName).toBe(
      "cart.shop_cart_cart.shop.svc.cluster.local_80_http_v1;",
    );
  });

  it("exchange no metadata if all endpoints are reached through HBONE, which carries it", () => {
    const labels = { "networking.istio.io/tunnel": "http" };
    const subsets = [{ name: "v1", labels: {} }];
    const mesh = new TestMesh(
      serviceYaml("cart") +
        podYaml("cart", "10.2.0.1", { labels }) +
        destinationRule("cart.shop.svc.cluster.local", { subsets }),
    );
    const disabled = (name: string): unknown => mesh.proxy().cluster(name).metadata.filterMetadata.istio.disable_mx;
    expect(disabled(cart)).toBe(true);
    expect(disabled("outbound|80|v1|cart.shop.svc.cluster.local")).toBeUndefined();
    mesh.apply(podYaml("cart", "10.2.0.2"));
    expect(disabled(cart)).toBeUndefined();
    mesh.remove(podYaml("cart", "10.2.0.1") + podYaml("cart", "10.2.0.2"));
    expect(disabled(cart)).toBeUndefined();
  });

  it("do not exist for an ExternalName service", () => {
    const proxy = new TestMesh(
      serviceYaml("alias", { ip: "", spec: { type: "ExternalName", externalName: "example.com" } }),
    ).proxy();
    expect(proxy.names(clusterType)).toEqual(own);
  });

  it("have no metadata exchange filter if the proxy's Envoy lacks the extension", () => {
    const mesh = new TestMesh(serviceYaml("cart"));
    expect(mesh.proxy().cluster(cart).filters).toMatchObject([{ name: "istio.metadata_exchange" }]);
    expect(mesh.proxy({ extensions: ["envoy.filters.http.router"] }).cluster(cart).filters).toBeUndefined();
  });

  it("have the ALPN that announces HTTP for a stock Envoy, if they use Istio's mutual TLS", () => {
    const stock = { extensions: ["envoy.filters.http.set_filter_state"] };
    const protocols = (mesh: TestMesh, proxy: object, name = cart): unknown =>
      mesh.proxy(proxy).cluster(name).metadata?.filterMetadata.istio?.application_protocols;
    const mesh = new TestMesh(serviceYaml("cart", { ports: ["foo:80"] }) + podYaml("cart", "10.2.0.1"));
    expect(protocols(mesh, stock)).toBe("istio-http/1.1,istio");
    // Istio's Envoy has its own filter, and others none.
    expect(protocols(mesh, {})).toBeUndefined();
    expect(protocols(mesh, { extensions: ["envoy.filters.http.router"] })).toBeUndefined();
    expect(protocols(new TestMesh(serviceYaml("cart", { ports: ["grpc:80"] })), stock)).toBe("istio-h2,istio,h2");
    const policy = (trafficPolicy: object): string => destinationRule("cart.shop.svc.cluster.local", { trafficPolicy });
    for (const mode of ["DISABLE", "SIMPLE"]) {
      mesh.apply(policy({ tls: { mode } }));
      expect(protocols(mesh, stock)).toBeUndefined();
    }
  });
});

describe("a headless service", () => {
  const headless = serviceYaml("db", { ip: "None", ports: ["tcp:5432"] });
  const name = "outbound|5432||db.shop.svc.cluster.local";

  it("uses the original destination on sidecars and EDS on gateways", () => {
    const mesh = new TestMesh(headless);
    expect(mesh.proxy().cluster(name)).toMatchObject({ type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" });
    expect(mesh.proxy({ type: "router" }).cluster(name)).toMatchObject({ type: "EDS", lbPolicy: "LEAST_REQUEST" });
  });

  it("has mutual TLS only if all endpoints accept it", () => {
    const mesh = new TestMesh(headless);
    expect(mesh.proxy().cluster(name).transportSocket).toBeUndefined();
    mesh.apply(podYaml("db", "10.2.0.1", { ports: { tcp: 5432 } }));
    expect(mesh.proxy().cluster(name).transportSocket).toMatchObject({ name: "envoy.transport_sockets.tls" });
    mesh.apply(podYaml("db", "10.2.0.2", { ports: { tcp: 5432 }, injected: false }));
    expect(mesh.proxy().cluster(name).transportSocket).toBeUndefined();
  });
});

describe("a ServiceEntry's cluster", () => {
  const name = "outbound|443||api.example.com";
  const entry = (spec: object): string =>
    serviceEntry("api", {
      hosts: ["api.example.com"],
      location: "MESH_EXTERNAL",
      ports: [{ number: 443, name: "tls", protocol: "TLS" }],
      ...spec,
    });

  it("uses DNS for DNS resolution", () => {
    const cluster = new TestMesh(entry({ resolution: "DNS" })).proxy().cluster(name);
    expect(cluster).toMatchObject({
      type: "STRICT_DNS",
      dnsRefreshRate: "60s",
      respectDnsTtl: true,
      dnsJitter: "0.100s",
      typedDnsResolverConfig: { name: "envoy.network.dns_resolver.cares", typedConfig: { udpMaxQueries: 100 } },
      metadata: { filterMetadata: { istio: { external: true } } },
    });
    expect(cluster.dnsLookupFamily).toBe("V4_ONLY");
    expect(JSON.stringify(cluster.loadAssignment)).toContain('"address":"api.example.com"');
    expect(cluster.edsClusterConfig).toBeUndefined();
  });

  it("looks up the families of the proxy's addresses", () => {
    const mesh = new TestMesh(entry({ resolution: "DNS" }));
    const family = (ips: string): string | undefined =>
      mesh.proxy({ metadata: { INSTANCE_IPS: ips } }).cluster(name).dnsLookupFamily;
    expect([family("10.0.0.1"), family("fd00::1"), family("10.0.0.1,fd00::1")]).toEqual([
      "V4_ONLY",
      "V6_ONLY",
      "V4_ONLY",
    ]);
    mesh.set("ISTIO_DUAL_STACK", "true");
    expect(family("10.0.0.1,fd00::1")).toBe("ALL");
  });

  it("uses LOGICAL_DNS for DNS_ROUND_ROBIN", () => {
    expect(new TestMesh(entry({ resolution: "DNS_ROUND_ROBIN" })).proxy().cluster(name).type).toBe("LOGICAL_DNS");
  });

  it("uses the original destination for NONE, with the entry's target port", () => {
    const cluster = new TestMesh(
      entry({ resolution: "NONE", ports: [{ number: 443, name: "tls", protocol: "TLS", targetPort: 8443 }] }),
    )
      .proxy()
      .cluster(name);
    expect(cluster).toMatchObject({ type: "ORIGINAL_DST", originalDstLbConfig: { upstreamPortOverride: 8443 } });
  });

  it("has mutual TLS for NONE if all endpoints at the port number accept it, whatever other entries of the host name the port", () => {
    const declared = (entryName: string, portName: string, spec: object): string =>
      serviceEntry(entryName, {
        hosts: ["api.example.com"],
        location: "MESH_INTERNAL",
        ports: [{ number: 443, name: portName, protocol: "TCP" }],
        ...spec,
      });
    const endpointWith = (labels: object): string =>
      declared("b", "other", { resolution: "STATIC", endpoints: [{ address: "10.3.0.1", labels }] });
    const socketOf = (yaml: string): Json =>
      new TestMesh(declared("a", "tcp", { resolution: "NONE" }) + yaml).proxy().cluster(name).transportSocket;
    expect(socketOf(endpointWith({ "security.istio.io/tlsMode": "istio" }))).toMatchObject({
      name: "envoy.transport_sockets.tls",
    });
    expect(socketOf(endpointWith({ "security.istio.io/tlsMode": "disabled" }))).toBeUndefined();
    expect(socketOf("")).toBeUndefined();
  });

  it("has no mutual TLS outside the mesh", () => {
    const cluster = new TestMesh(entry({ resolution: "STATIC", endpoints: [{ address: "192.0.2.1" }] }))
      .proxy()
      .cluster(name);
    expect(cluster.type).toBe("EDS");
    expect(cluster.transportSocketMatches).toBeUndefined();
  });
});

describe("a ServiceEntry with DYNAMIC_DNS resolution", () => {
  const entry = serviceEntry("any", {
    hosts: ["*.example.com"],
    location: "MESH_EXTERNAL",
    resolution: "DYNAMIC_DNS",
    ports: [
      { number: 80, name: "http", protocol: "HTTP" },
      { number: 443, name: "tls", protocol: "TLS" },
    ],
  });

  it("has mutual TLS within the mesh, except under PASSTHROUGH, since it has no endpoints", () => {
    const inside = serviceEntry("any", {
      hosts: ["*.example.com"],
      location: "MESH_INTERNAL",
      resolution: "DYNAMIC_DNS",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    });
    const mesh = new TestMesh(inside);
    const sockets = (): unknown => mesh.proxy().cluster("outbound|80||*.example.com").transportSocketMatches?.length;
    expect(sockets()).toBe(2);
    mesh.apply(destinationRule("*.example.com", { trafficPolicy: { loadBalancer: { simple: "PASSTHROUGH" } } }));
    expect(sockets()).toBeUndefined();
  });

  it("has a dynamic forward proxy for each port", () => {
    const proxy = new TestMesh(entry).proxy();
    expect(proxy.names(clusterType)).toEqual([...own, "outbound|443||*.example.com", "outbound|80||*.example.com"]);
    expect(proxy.cluster("outbound|80||*.example.com")).toMatchObject({
      clusterType: {
        name: "envoy.clusters.dynamic_forward_proxy",
        typedConfig: { dnsCacheConfig: { name: "*.example.com_dfp_dns_cache", dnsLookupFamily: "V4_ONLY" } },
      },
      lbPolicy: "CLUSTER_PROVIDED",
    });
  });

  it("verifies the certificate against the host of each request", () => {
    const cluster = new TestMesh(
      entry + destinationRule("*.example.com", { trafficPolicy: { tls: { mode: "SIMPLE" } } }),
    )
      .proxy()
      .cluster("outbound|80||*.example.com");
    expect(JSON.stringify(cluster.typedExtensionProtocolOptions)).toContain('"autoSni":true,"autoSanValidation":true');
    expect(cluster.clusterType.typedConfig.allowInsecureClusterOptions).toBeUndefined();
    expect(cluster.transportSocket.name).toBe("envoy.transport_sockets.tls");
  });

  it("allows insecure cluster options for plaintext with HTTP protocol options", () => {
    const grpc = entry.replace('"HTTP"', '"GRPC"');
    const cluster = new TestMesh(grpc).proxy().cluster("outbound|80||*.example.com");
    expect(cluster.clusterType.typedConfig.allowInsecureClusterOptions).toBe(true);
    expect(
      new TestMesh(entry).proxy().cluster("outbound|80||*.example.com").clusterType.typedConfig
        .allowInsecureClusterOptions,
    ).toBeUndefined();
  });

  it("allows insecure cluster options for a fixed SNI", () => {
    const cluster = new TestMesh(
      entry + destinationRule("*.example.com", { trafficPolicy: { tls: { mode: "SIMPLE", sni: "www.example.com" } } }),
    )
      .proxy()
      .cluster("outbound|80||*.example.com");
    expect(cluster.clusterType.typedConfig.allowInsecureClusterOptions).toBe(true);
  });
});

describe("automatic mutual TLS", () => {
  it("is selected by endpoint metadata, and has the service's identities and SNI", () => {
    const cluster = new TestMesh(serviceYaml("cart") + podYaml("cart", "10.2.0.1", { account: "cart-account" }))
      .proxy()
      .cluster(cart);
    expect(cluster.transportSocketMatches).toMatchObject([
      {
        name: "tlsMode-istio",
        match: { tlsMode: "istio" },
        transportSocket: {
          typedConfig: {
            sni: "outbound_.80_._.cart.shop.svc.cluster.local",
            commonTlsContext: {
              alpnProtocols: ["istio-peer-exchange", "istio"],
              tlsCertificateSdsSecretConfigs: [{ name: "default" }],
              combinedValidationContext: {
                defaultValidationContext: {
                  matchSubjectAltNames: [{ exact: "spiffe://cluster.local/ns/shop/sa/cart-account" }],
                },
                validationContextSdsSecretConfig: { name: "ROOTCA" },
              },
            },
          },
        },
      },
      { name: "tlsMode-disabled", match: {}, transportSocket: { name: "envoy.transport_sockets.raw_buffer" } },
    ]);
  });

  it("is disabled by the mesh or by PeerAuthentication of the namespace", () => {
    const off = new TestMesh(serviceYaml("cart"), { enableAutoMtls: false });
    expect(off.proxy().cluster(cart).transportSocketMatches).toBeUndefined();
    const mesh = new TestMesh(serviceYaml("cart") + peerAuthentication("shop", "DISABLE"));
    expect(mesh.proxy().cluster(cart).transportSocketMatches).toBeUndefined();
    mesh.apply(peerAuthentication("shop", "STRICT"));
    expect(mesh.proxy().cluster(cart).transportSocketMatches).toHaveLength(2);
  });

  it("uses the proxy's own certificates if it has some", () => {
    const metadata = { TLS_CLIENT_CERT_CHAIN: "/c.pem", TLS_CLIENT_KEY: "/k.pem", TLS_CLIENT_ROOT_CERT: "/r.pem" };
    const text = JSON.stringify(new TestMesh(serviceYaml("cart")).proxy({ metadata }).cluster(cart));
    expect(text).toContain("file-cert:/c.pem~/k.pem");
    expect(text).toContain("file-root:/r.pem");
  });
});

describe("built-in clusters", () => {
  it("pass unknown outbound traffic to the original destination, or drop it", () => {
    const proxy = new TestMesh().proxy();
    expect(proxy.cluster("PassthroughCluster")).toMatchObject({ type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" });
    expect(proxy.cluster("BlackHoleCluster")).toEqual({
      name: "BlackHoleCluster",
      altStatName: "BlackHoleCluster;",
      connectTimeout: "10s",
      type: "STATIC",
    });
  });

  it("resolve unknown hosts on demand under ALLOW_ANY_DYNAMIC_DNS", () => {
    const mesh = new TestMesh("", { outboundTrafficPolicy: { mode: "ALLOW_ANY_DYNAMIC_DNS" } });
    expect(mesh.proxy().cluster("AllowAnyDynamicDNSCluster")).toMatchObject({
      clusterType: {
        typedConfig: {
          allowInsecureClusterOptions: true,
          dnsCacheConfig: { name: "allow_any_dfp_dns_cache", maxHosts: 1024, dnsLookupFamily: "V4_ONLY" },
        },
      },
    });
    const dns = mesh
      .proxy({ metadata: { DNS_CAPTURE: "true", DNS_PROXY_ADDR: "localhost:15053" } })
      .cluster("AllowAnyDynamicDNSCluster");
    expect(dns.clusterType.typedConfig.dnsCacheConfig.typedDnsResolverConfig.typedConfig.resolvers).toEqual([
      { socketAddress: { address: "127.0.0.1", portValue: 15053 } },
    ]);
  });

  it.each([
    ["10.1.0.1", {}, "127.0.0.1:15053"],
    ["fd00::1", {}, "::1:15053"],
    ["fd00::1", { DNS_PROXY_ADDR: "localhost:53" }, "::1:53"],
    ["fd00::1", { DNS_PROXY_ADDR: ":15053" }, "::1:15053"],
    ["10.1.0.1", { DNS_PROXY_ADDR: ":15053" }, "127.0.0.1:15053"],
    ["10.1.0.1", { DNS_PROXY_ADDR: "[::]:15053" }, "::1:15053"],
    ["fd00::1", { DNS_PROXY_ADDR: "0.0.0.0:15053" }, "::1:15053"],
    ["fd00::1", { DNS_PROXY_ADDR: "[fd00::9]:53" }, "fd00::9:53"],
    ["fd00::1", { DNS_PROXY_ADDR: "169.254.20.10:53" }, "169.254.20.10:53"],
    ["10.1.0.1", { INSTANCE_IPS: "10.1.0.1,fd00::1" }, "127.0.0.1:15053"],
  ])("query the DNS server of the agent at %s with %o on %s", (ip, metadata, resolver) => {
    const mesh = new TestMesh("", { outboundTrafficPolicy: { mode: "ALLOW_ANY_DYNAMIC_DNS" } });
    const proxy = mesh.proxy({ ip, metadata: { DNS_CAPTURE: "true", ...metadata } });
    const { dnsCacheConfig } = proxy.cluster("AllowAnyDynamicDNSCluster").clusterType.typedConfig;
    const [{ socketAddress }] = dnsCacheConfig.typedDnsResolverConfig.typedConfig.resolvers;
    expect(`${socketAddress.address}:${socketAddress.portValue}`).toBe(resolver);
    expect(dnsCacheConfig.dnsLookupFamily).toBe(ip.includes(":") ? "V6_ONLY" : "V4_ONLY");
  });

  it("reach an external SDS server if the proxy has one", () => {
    const cluster = new TestMesh().proxy({ metadata: { credential: "true" } }).cluster("sds-external");
    expect(JSON.stringify(cluster.loadAssignment)).toContain("./var/run/secrets/credential-uds/socket");
  });

  it("do not exist for proxies other than Envoy", () => {
    const mesh = new TestMesh(serviceYaml("cart"));
    expect(mesh.proxy({ type: "ztunnel" }).names(clusterType)).toEqual([]);
    expect(mesh.proxy({ metadata: { GENERATOR: "grpc" } }).names(clusterType)).toEqual([]);
  });
});
