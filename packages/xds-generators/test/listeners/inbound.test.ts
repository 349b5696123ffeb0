import { describe, expect, it } from "vitest";
import { istioYaml, peerAuthentication, podYaml, serviceYaml } from "../mesh-yaml.js";
import { clusterType, TestMesh, type TestProxy } from "../mesh.js";
import {
  chainLines,
  chainsOf,
  filterNames,
  filterOf,
  httpChain,
  httpFilterNames,
  listenerNames,
  listenerOf,
  managerOf,
  tcpProxy,
} from "./listener-parts.js";

const ip = "10.1.0.1";
const web =
  serviceYaml("web", { ports: ["http:80:8080", "tcp:90:9090", "any:91:9091"] }) +
  podYaml("web", ip, { ports: { http: 8080, tcp: 9090, any: 9091 } });
const self = { ip, name: "web-10-1-0-1", labels: { app: "web" } };
const virtualInbound = (proxy: TestProxy) => listenerOf(proxy, "virtualInbound");
const mutual = "istio-http/1.0 istio-http/1.1 istio-h2";

describe("inbound filter chains", () => {
  it("accept mutual TLS and plaintext by default", () => {
    const listener = virtualInbound(new TestMesh(web).proxy(self));
    expect(chainLines(listener, 8080)).toEqual([
      `tls istio istio-peer-exchange ${mutual} -> tls http`,
      "raw_buffer -> http",
    ]);
    expect(chainLines(listener, 9090)).toEqual([
      `tls istio istio-peer-exchange ${mutual} -> tls tcp`,
      "tls -> tcp",
      "raw_buffer -> tcp",
    ]);
    expect(chainLines(listener, 9091)).toEqual([
      `tls ${mutual} -> tls http`,
      "raw_buffer http/1.1 h2c -> http",
      "tls istio-peer-exchange istio -> tls tcp",
      "raw_buffer -> tcp",
      "tls -> tcp",
    ]);
  });

  it("do not exist for a port without a number, since they would match any port", () => {
    const named = serviceYaml("web", {
      ports: ["http:80"],
      spec: { ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: "http" }] },
    });
    const proxy = new TestMesh(named).proxy(self);
    const unused = new TestMesh(serviceYaml("other")).proxy(self);
    expect(proxy.names(clusterType)).toContain("inbound|0||");
    expect(chainsOf(virtualInbound(proxy))).toEqual(chainsOf(virtualInbound(unused)));
  });

  it("accept only mutual TLS under STRICT, and only plaintext under DISABLE", () => {
    const lines = (mode: string, port: number): string[] =>
      chainLines(virtualInbound(new TestMesh(web + peerAuthentication("shop", mode)).proxy(self)), port);
    expect(lines("STRICT", 8080)).toEqual(["tls -> tls http"]);
    expect(lines("STRICT", 9091)).toEqual([`tls ${mutual} -> tls http`, "tls -> tls tcp"]);
    expect(lines("DISABLE", 8080)).toEqual(["raw_buffer -> http"]);
  });

  it("for TCP have stat names by the mesh's pattern, without the target port", () => {
    const proxy = new TestMesh(web, { inboundClusterStatName: "in_%SERVICE%_%SERVICE_PORT%_%TARGET_PORT%" }).proxy(
      self,
    );
    const chain = chainsOf(virtualInbound(proxy)).find(
      ({ filterChainMatch }) => filterChainMatch?.destinationPort === 9090,
    );
    expect(filterOf(chain, tcpProxy).statPrefix).toBe("in_web.shop_90_%TARGET_PORT%");
  });

  it("follow port-level modes, also at undeclared ports", () => {
    const policy = `---\napiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: web, namespace: shop}\nspec: {selector: {matchLabels: {app: web}}, mtls: {mode: STRICT}, portLevelMtls: {8080: {mode: DISABLE}, 7777: {mode: DISABLE}}}\n`;
    const listener = virtualInbound(new TestMesh(web + policy).proxy(self));
    expect(chainLines(listener, 8080)).toEqual(["raw_buffer -> http"]);
    expect(chainLines(listener, 7777)).toEqual(["raw_buffer http/1.1 h2c -> http", "raw_buffer -> tcp"]);
    expect(chainLines(listener, 9090)).toEqual(["tls -> tls tcp"]);
  });

  it("route requests to the port's cluster by inline routes", () => {
    const chain = chainsOf(virtualInbound(new TestMesh(web).proxy(self))).find(
      (each) => each.filterChainMatch.destinationPort === 8080,
    );
    const manager = managerOf(chain);
    expect(manager).toMatchObject({
      statPrefix: "inbound_0.0.0.0_8080;",
      serverName: "istio-envoy",
      forwardClientCertDetails: "APPEND_FORWARD",
      useRemoteAddress: false,
    });
    expect(manager.routeConfig.virtualHosts[0]).toMatchObject({
      name: "inbound|http|80",
      routes: [{ route: { cluster: "inbound|8080||" } }],
    });
    expect(filterNames(chain)).toEqual(["istio.metadata_exchange", "envoy.filters.network.http_connection_manager"]);
  });

  it("drop connections to the listener's own port, and pass undeclared ports through", () => {
    const [blackHole, ...others] = chainsOf(virtualInbound(new TestMesh(web).proxy(self)));
    expect(blackHole).toMatchObject({ name: "virtualInbound-blackhole", filterChainMatch: { destinationPort: 15006 } });
    const passthrough = others.filter((chain) => chain.filterChainMatch.destinationPort === undefined);
    expect(passthrough.map(({ name }) => name)).toEqual([
      "virtualInbound-catchall-http",
      "virtualInbound-catchall-http",
      "virtualInbound",
      "virtualInbound",
      "virtualInbound",
    ]);
    expect(filterOf(passthrough.at(-1), tcpProxy).cluster).toBe("InboundPassthroughCluster");
  });

  it("verify peers by the mesh's trust domains", () => {
    const mesh = new TestMesh(web, { trustDomain: "new", trustDomainAliases: ["old"] });
    const chain = chainsOf(virtualInbound(mesh.proxy(self))).find((each) => each.transportSocket);
    const { defaultValidationContext } = chain.transportSocket.typedConfig.commonTlsContext.combinedValidationContext;
    expect(defaultValidationContext.matchSubjectAltNames).toEqual([
      { prefix: "spiffe://new/" },
      { prefix: "spiffe://old/" },
    ]);
  });

  it("disable inspectors at ports of server-first protocols", () => {
    const listener = virtualInbound(
      new TestMesh(
        serviceYaml("web", { ports: ["mysql:3306"] }) +
          podYaml("web", ip, { ports: { mysql: 3306 } }) +
          peerAuthentication("shop", "DISABLE"),
      ).proxy(self),
    );
    const [, httpInspector] = listener.listenerFilters;
    expect(httpInspector).toMatchObject({ name: "envoy.filters.listener.http_inspector" });
    expect(JSON.stringify(httpInspector.filterDisabled)).toContain('"start":3306,"end":3307');
  });
});

describe("an ingress listener of a Sidecar", () => {
  const sidecar = (ingress: readonly object[]): string =>
    istioYaml("Sidecar", "web", { workloadSelector: { labels: { app: "web" } }, ingress });

  it("replaces the services' ports", () => {
    const mesh = new TestMesh(
      web + sidecar([{ port: { number: 8443, protocol: "HTTP", name: "http" }, defaultEndpoint: "127.0.0.1:8080" }]),
    );
    const listener = virtualInbound(mesh.proxy(self));
    expect(chainLines(listener, 8080)).toEqual([]);
    const chain = chainsOf(listener).find((each) => each.filterChainMatch.destinationPort === 8443);
    expect(chain.name).toBe("10.1.0.1_8443");
    expect(chain.metadata.filterMetadata.istio.config).toBe("/apis/networking.istio.io/v1/namespaces/shop/sidecar/web");
  });

  it("is a bound listener without capture", () => {
    const mesh = new TestMesh(
      web +
        sidecar([
          {
            port: { number: 8443, protocol: "TCP", name: "tcp" },
            bind: "0.0.0.0",
            captureMode: "NONE",
            defaultEndpoint: "127.0.0.1:8080",
          },
        ]),
    );
    const proxy = mesh.proxy(self);
    expect(listenerNames(proxy)).toContain("0.0.0.0_8443");
    expect(chainLines(virtualInbound(proxy), 8443)).toEqual([]);
  });

  it("terminates its own TLS if mutual TLS is disabled", () => {
    const tls = { mode: "SIMPLE", privateKey: "/certs/key.pem", serverCertificate: "/certs/cert.pem" };
    const mesh = new TestMesh(
      web +
        peerAuthentication("shop", "DISABLE") +
        sidecar([{ port: { number: 8443, protocol: "HTTPS", name: "https" }, defaultEndpoint: "127.0.0.1:8080", tls }]),
    ).set("ENABLE_TLS_ON_SIDECAR_INGRESS", "true");
    const chain = chainsOf(virtualInbound(mesh.proxy(self))).find(
      (each) => each.filterChainMatch.destinationPort === 8443,
    );
    expect(filterNames(chain)).toContain("envoy.filters.network.http_connection_manager");
    expect(chain.transportSocket.typedConfig.commonTlsContext.tlsCertificateSdsSecretConfigs[0].name).toBe(
      "file-cert:/certs/cert.pem~/certs/key.pem",
    );
  });
});

describe("bound ports of two workloads", () => {
  it("have a listener per workload, named in traces", () => {
    const ingress = [
      {
        port: { number: 9080, protocol: "HTTP", name: "http" },
        bind: "0.0.0.0",
        captureMode: "NONE",
        defaultEndpoint: "127.0.0.1:8080",
      },
    ];
    const mesh = new TestMesh(
      ["shop", "payments"].map((namespace) => istioYaml("Sidecar", "default", { ingress }, namespace)).join(""),
    );
    const operations = ["shop", "payments"].map((namespace) => {
      const [chain] = chainsOf(listenerOf(mesh.proxy({ namespace }), "0.0.0.0_9080"));
      return managerOf(chain).routeConfig.virtualHosts[0].routes[0].decorator.operation;
    });
    expect(operations).toEqual(["default.shop:9080/*", "default.payments:9080/*"]);
  });
});

describe("a proxy without redirection", () => {
  it("has inbound listeners only for a Sidecar's ingress listeners", () => {
    const metadata = { INTERCEPTION_MODE: "NONE" };
    expect(
      listenerNames(new TestMesh(web).proxy({ ...self, metadata })).filter(
        (name) => name.includes("8080") || name === "virtualInbound",
      ),
    ).toEqual([]);
  });
});

describe("proxy settings", () => {
  const requests = (config: object): ReturnType<typeof managerOf> =>
    managerOf(httpChain(virtualInbound(new TestMesh(web, config as never).proxy(self))));

  it("normalize paths by mesh configuration", () => {
    expect(requests({})).toMatchObject({ normalizePath: true, pathWithEscapedSlashesAction: "KEEP_UNCHANGED" });
    expect(requests({ pathNormalization: { normalization: "NONE" } }).normalizePath).toBe(false);
    expect(requests({ pathNormalization: { normalization: "DECODE_AND_MERGE_SLASHES" } })).toMatchObject({
      mergeSlashes: true,
      pathWithEscapedSlashesAction: "UNESCAPE_AND_FORWARD",
    });
  });

  it("select the headers that are added", () => {
    const proxyHeaders = {
      server: { disabled: true },
      requestId: { disabled: true },
      forwardedClientCert: "SANITIZE",
      envoyDebugHeaders: { disabled: true },
      preserveHttp1HeaderCase: true,
    };
    const manager = requests({ defaultConfig: { proxyHeaders } });
    expect(manager).toMatchObject({
      serverHeaderTransformation: "PASS_THROUGH",
      generateRequestId: false,
      httpProtocolOptions: { headerKeyFormat: { statefulFormatter: { name: "preserve_case" } } },
    });
    expect(manager.serverName).toBeUndefined();
    expect(manager.forwardClientCertDetails).toBeUndefined();
    expect(manager.httpFilters.at(-1).typedConfig.suppressEnvoyHeaders).toBe(true);
  });

  it("close idle connections after the node's timeout", () => {
    const listener = virtualInbound(new TestMesh(web).proxy({ ...self, metadata: { IDLE_TIMEOUT: "1m30s" } }));
    expect(managerOf(httpChain(listener)).commonHttpProtocolOptions.idleTimeout).toBe("90s");
  });
});

describe("a stock Envoy", () => {
  const extensions = ["envoy.filters.http.router", "envoy.filters.network.tcp_proxy"];

  it("is sent no filters that it lacks", () => {
    const proxy = new TestMesh(web, { defaultProviders: { metrics: ["prometheus"] } }).proxy({ ...self, extensions });
    const all = listenerNames(proxy)
      .map((name) => JSON.stringify(listenerOf(proxy, name)))
      .join();
    expect(all).not.toContain('"name":"istio.');
    const tls = chainsOf(virtualInbound(proxy)).find(
      (chain) => chain.transportSocket && !filterNames(chain).includes("envoy.filters.network.http_connection_manager"),
    );
    // It cannot respond to a peer that starts a metadata exchange.
    expect(tls.transportSocket.typedConfig.commonTlsContext.alpnProtocols).toEqual(["h2", "http/1.1"]);
  });

  it("without a list of extensions is assumed to be Istio's build", () => {
    const proxy = new TestMesh(web, { defaultProviders: { metrics: ["prometheus"] } }).proxy(self);
    expect(httpFilterNames(httpChain(virtualInbound(proxy)))).toEqual([
      "istio.metadata_exchange",
      "envoy.filters.http.grpc_stats",
      "envoy.filters.http.fault",
      "envoy.filters.http.cors",
      "istio.stats",
      "envoy.filters.http.router",
    ]);
  });
});
