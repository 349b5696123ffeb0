import { describe, expect, it } from "vitest";
import { istioYaml, peerAuthentication, podYaml, serviceYaml } from "../mesh-yaml.js";
import { type Json, type ProxyOptions, TestMesh } from "../mesh.js";
import {
  chainLines,
  chainsOf,
  filterNames,
  filterOf,
  httpChain,
  httpFilterNames,
  httpFilterOf,
  listenerNames,
  listenerOf,
  managerOf,
  tcpProxy,
} from "./listener-parts.js";

const ports = { http: 8080, tcp: 9090, any: 9091 };
const web =
  serviceYaml("web", { ports: ["http:80:8080", "tcp:90:9090", "any:91:9091"] }) + podYaml("web", "10.1.0.1", { ports });
const self: ProxyOptions = {
  ip: "10.1.0.1",
  name: "web-10-1-0-1",
  labels: { app: "web" },
  metadata: { ENABLE_HBONE: "true" },
};
/** Extensions of a stock Envoy 1.40 that matter here. */
const stock = [
  "envoy.filters.http.router",
  "envoy.filters.http.set_filter_state",
  "envoy.string",
  "envoy.hashable_string",
];

const ambient = (yaml = web, config: object = {}): TestMesh =>
  new TestMesh(yaml, config as never).set("PILOT_ENABLE_AMBIENT", "true");
const names = (mesh: TestMesh, options: ProxyOptions): string[] =>
  listenerNames(mesh.proxy(options)).filter((name) => /connect_|internal/.test(name));

function authorization(name: string, spec: object): string {
  return `---\n${JSON.stringify({ apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy", metadata: { name, namespace: "shop" }, spec })}\n`;
}

describe("listeners for HBONE", () => {
  it("open tunnels on every sidecar and gateway of a mesh in ambient mode", () => {
    expect(names(ambient(), { ip: "10.1.0.9" })).toEqual(["connect_originate"]);
    expect(names(ambient(), { type: "router" })).toEqual(["connect_originate"]);
    expect(names(new TestMesh(web), self)).toEqual([]);
    expect(names(ambient().set("PILOT_ENABLE_SENDING_HBONE", "false"), { ip: "10.1.0.9" })).toEqual([]);
  });

  it("terminate tunnels on sidecars with ENABLE_HBONE", () => {
    expect(names(ambient(), self)).toEqual(["connect_originate", "connect_terminate", "main_internal"]);
    expect(names(ambient(), { ...self, metadata: { ENABLE_HBONE: "false" } })).toEqual(["connect_originate"]);
    expect(names(ambient().set("PILOT_ENABLE_SIDECAR_LISTENING_HBONE", "false"), self)).toEqual(["connect_originate"]);
    expect(names(ambient(), { ...self, type: "router" })).toEqual(["connect_originate"]);
  });

  it("do not exist for gRPC applications without a proxy", () => {
    expect(names(ambient(), { ...self, metadata: { ENABLE_HBONE: "true", GENERATOR: "grpc" } })).toEqual([]);
  });
});

describe("connect_originate", () => {
  it("tunnels each connection to its original destination", () => {
    const listener = listenerOf(ambient().proxy(self), "connect_originate");
    expect(listener).toMatchObject({
      internalListener: {},
      useOriginalDst: false,
      listenerFilters: [{ name: "envoy.filters.listener.original_dst" }],
    });
    expect(listener.address).toBeUndefined();
    const [chain] = chainsOf(listener);
    expect(filterNames(chain)).toEqual([tcpProxy]);
    expect(filterOf(chain, tcpProxy)).toMatchObject({
      cluster: "connect_originate",
      statPrefix: "connect_originate",
      tunnelingConfig: { hostname: "%DOWNSTREAM_LOCAL_ADDRESS%" },
    });
  });

  it("exchanges baggage if enabled and supported by Envoy", () => {
    const mesh = ambient().set("AMBIENT_ENABLE_BAGGAGE", "true");
    const [chain] = chainsOf(listenerOf(mesh.proxy(self), "connect_originate"));
    expect(filterNames(chain)).toEqual(["upstream_hbone_peer_metadata", tcpProxy]);
    expect(filterOf(chain, tcpProxy).tunnelingConfig).toMatchObject({
      propagateResponseHeaders: true,
      headersToAdd: [{ header: { key: "baggage", value: "%FILTER_STATE(io.istio.baggage:PLAIN)%" } }],
    });
    const plain = mesh.proxy({ ...self, extensions: stock });
    const [without] = chainsOf(listenerOf(plain, "connect_originate"));
    expect(filterNames(without)).toEqual([tcpProxy]);
    expect(filterOf(without, tcpProxy).tunnelingConfig).toEqual({ hostname: "%DOWNSTREAM_LOCAL_ADDRESS%" });
    expect(plain.cluster("outbound|80||web.shop.svc.cluster.local").filters).toBeUndefined();
  });

  it("logs tunnels that fail to open", () => {
    const listener = listenerOf(
      ambient(web, { accessLogFile: "/dev/stdout", enableEnvoyAccessLogService: true }).proxy(self),
      "connect_originate",
    );
    const logs = filterOf(chainsOf(listener)[0], tcpProxy).accessLog;
    expect(logs.map(({ name, filter }: Json) => [name, filter.responseFlagFilter.flags])).toEqual([
      ["envoy.access_loggers.file", ["UF"]],
    ]);
    expect(listener.accessLog.map(({ name }: Json) => name)).toEqual([
      "envoy.access_loggers.file",
      "envoy.tcp_grpc_access_log",
    ]);
  });
});

describe("connect_terminate", () => {
  const terminate = (mesh: TestMesh, options = self): Json => listenerOf(mesh.proxy(options), "connect_terminate");

  it("listens on port 15008 for HTTP/2 CONNECT and forwards to main_internal", () => {
    const listener = terminate(ambient());
    expect(listener).toMatchObject({
      address: { socketAddress: { address: "0.0.0.0", portValue: 15008 } },
      connectionBalanceConfig: { exactBalance: {} },
    });
    const manager = managerOf(httpChain(listener));
    expect(manager).toMatchObject({
      statPrefix: "connect_terminate",
      upgradeConfigs: [{ upgradeType: "CONNECT" }],
      http2ProtocolOptions: { allowConnect: true, maxConcurrentStreams: 100 },
      useRemoteAddress: false,
    });
    expect(manager.routeConfig.virtualHosts[0].routes).toEqual([
      {
        match: { connectMatcher: {} },
        route: { cluster: "main_internal", upgradeConfigs: [{ upgradeType: "CONNECT", connectConfig: {} }] },
      },
    ]);
  });

  it("requires mutual TLS whatever PeerAuthentication says", () => {
    for (const mode of ["STRICT", "PERMISSIVE", "DISABLE"]) {
      const chains = chainsOf(
        terminate(ambient(web + peerAuthentication("shop", mode), { trustDomain: "new", trustDomainAliases: ["old"] })),
      );
      expect(chains.length).toBe(1);
      const { requireClientCertificate, commonTlsContext } = chains[0].transportSocket.typedConfig;
      expect(requireClientCertificate).toBe(true);
      expect(commonTlsContext).toMatchObject({
        alpnProtocols: ["h2"],
        tlsParams: { tlsMinimumProtocolVersion: "TLSv1_3" },
      });
      const { matchTypedSubjectAltNames } = commonTlsContext.combinedValidationContext.defaultValidationContext;
      expect(matchTypedSubjectAltNames).toEqual(
        ["new", "old"].map((domain) => ({ sanType: "URI", matcher: { prefix: `spiffe://${domain}/` } })),
      );
    }
  });

  it("passes on the peer's identity and the destination", () => {
    const chain = httpChain(terminate(ambient()));
    expect(httpFilterNames(chain)).toEqual([
      "waypoint_downstream_peer_metadata",
      "connect_authority",
      "envoy.filters.http.router",
    ]);
    const states = httpFilterOf(chain, "connect_authority").onRequestHeaders;
    expect(
      states.map(({ objectKey, formatString, sharedWithUpstream }: Json) => [
        objectKey,
        formatString.textFormatSource.inlineString,
        sharedWithUpstream,
      ]),
    ).toEqual([
      ["envoy.filters.listener.original_dst.local_ip", "%REQ(:AUTHORITY)%", "ONCE"],
      ["io.istio.connect_authority", "%REQ(:AUTHORITY)%", "ONCE"],
      ["envoy.filters.listener.original_dst.remote_ip", "%DOWNSTREAM_REMOTE_ADDRESS%", "ONCE"],
      ["io.istio.peer_principal", "%DOWNSTREAM_PEER_URI_SAN%", "ONCE"],
      ["io.istio.local_principal", "%DOWNSTREAM_LOCAL_URI_SAN%", "ONCE"],
    ]);
  });

  it.each<[string, Partial<ProxyOptions> & { readonly version?: string }, string]>([
    ["Istio 1.29.2 or later", { version: "1.29.2" }, "istio.hashable_string"],
    ["an older Istio", { version: "1.29.1" }, "envoy.string"],
    ["a stock Envoy", { version: "1.30.0", extensions: stock }, "envoy.hashable_string"],
    [
      "an older stock Envoy",
      { version: "1.30.0", extensions: stock.filter((name) => name !== "envoy.hashable_string") },
      "envoy.string",
    ],
  ])("stores identities in the string type of %s", (_, { version = "", ...options }, factory) => {
    const proxy = ambient().proxy({ ...self, ...options, metadata: { ENABLE_HBONE: "true", ISTIO_VERSION: version } });
    const states = httpFilterOf(
      httpChain(listenerOf(proxy, "connect_terminate")),
      "connect_authority",
    ).onRequestHeaders;
    expect(states.map(({ factoryKey = "" }: Json) => factoryKey)).toEqual(["", factory, "", factory, factory]);
  });

  it("has no filter that a stock Envoy lacks", () => {
    expect(httpFilterNames(httpChain(terminate(ambient(), { ...self, extensions: stock })))).toEqual([
      "connect_authority",
      "envoy.filters.http.router",
    ]);
  });

  it("logs rejected tunnels", () => {
    const { accessLog } = managerOf(
      httpChain(terminate(ambient(web, { accessLogFile: "/dev/stdout", enableEnvoyAccessLogService: true }))),
    );
    expect(accessLog.map(({ name, filter }: Json) => [name, filter.statusCodeFilter.comparison])).toEqual([
      ["envoy.access_loggers.file", { op: "GE", value: { defaultValue: 400, runtimeKey: "istio.io/unset" } }],
    ]);
  });
});

describe("main_internal", () => {
  const inner = (mesh: TestMesh, options = self): Json => listenerOf(mesh.proxy(options), "main_internal");
  const at = (listener: Json, port: number): Json =>
    chainsOf(listener).find(({ filterChainMatch }) => filterChainMatch.destinationPort === port);

  it("has a chain for each port, and for all others, without TLS", () => {
    const listener = inner(ambient(web + peerAuthentication("shop", "STRICT")));
    expect(listener).toMatchObject({
      internalListener: {},
      trafficDirection: "INBOUND",
      continueOnListenerFiltersTimeout: true,
    });
    expect(chainLines(listener)).toEqual([
      "any -> http",
      "any -> tcp",
      "any http/1.1 h2c -> http",
      "any -> tcp",
      "any http/1.1 h2c -> http",
      "any -> tcp",
    ]);
    expect(chainsOf(listener).map(({ name }) => name)).toEqual([
      "0.0.0.0_8080",
      "0.0.0.0_9090",
      "0.0.0.0_9091",
      "0.0.0.0_9091",
      "virtualInbound-catchall-http",
      "virtualInbound",
    ]);
    expect(listener.listenerFilters.map(({ name }: Json) => name)).toEqual([
      "envoy.filters.listener.original_dst",
      "envoy.filters.listener.http_inspector",
    ]);
    expect(JSON.stringify(listener.listenerFilters[1].filterDisabled)).toContain('"start":8080,"end":8081');
  });

  it("accepts the workload's own addresses only, and never loopback", () => {
    const ranges = (INSTANCE_IPS: string): Json[] =>
      chainsOf(inner(ambient(), { ...self, metadata: { ENABLE_HBONE: "true", INSTANCE_IPS } })).map(
        ({ filterChainMatch }) => filterChainMatch?.prefixRanges,
      );
    const own = [
      { addressPrefix: "10.1.0.1", prefixLen: 32 },
      { addressPrefix: "2001:db8::1", prefixLen: 128 },
    ];
    const found = ranges("10.1.0.1,127.0.0.1,2001:db8::1,::1");
    expect(found.length).toBe(6);
    for (const each of found) expect(each).toEqual(own);
  });

  it("drops everything if the workload has only loopback addresses", () => {
    const [only, ...others] = chainsOf(
      inner(ambient(), { ...self, metadata: { ENABLE_HBONE: "true", INSTANCE_IPS: "127.0.0.1,::1" } }),
    );
    expect(others).toEqual([]);
    expect(filterOf(only, tcpProxy).cluster).toBe("BlackHoleCluster");
  });

  it("exchanges metadata only at undeclared ports", () => {
    const [port, , , , catchAll] = chainsOf(inner(ambient()));
    expect(filterNames(port)).toEqual(["envoy.filters.network.http_connection_manager"]);
    expect(httpFilterNames(port)).not.toContain("istio.metadata_exchange");
    expect(filterNames(catchAll)).toEqual(["istio.metadata_exchange", "envoy.filters.network.http_connection_manager"]);
    expect(httpFilterNames(catchAll)).toContain("istio.metadata_exchange");
  });

  it("authorizes by the identity in filter state, for HTTP and TCP", () => {
    const listener = inner(
      ambient(
        web +
          authorization("allow", { rules: [{ from: [{ source: { principals: ["cluster.local/ns/shop/sa/a"] } }] }] }),
      ),
    );
    const peer = { key: "io.istio.peer_principal", stringMatch: { exact: "spiffe://cluster.local/ns/shop/sa/a" } };
    const allowed = (config: Json): Json => config.rules.policies["ns[shop]-policy[allow]-rule[0]"].principals;
    const expected = [{ andIds: { ids: [{ orIds: { ids: [{ filterState: peer }] } }] } }];
    expect(allowed(httpFilterOf(at(listener, 8080), "envoy.filters.http.rbac"))).toEqual(expected);
    expect(allowed(filterOf(at(listener, 9090), "envoy.filters.network.rbac"))).toEqual(expected);
    expect(allowed(filterOf(chainsOf(listener).at(-1), "envoy.filters.network.rbac"))).toEqual(expected);
  });

  it("matches no source addresses, which are unknown inside a tunnel: allows less, denies more", () => {
    const rules = [{ from: [{ source: { ipBlocks: ["10.0.0.0/8"], namespaces: ["x"] } }] }];
    const listener = inner(
      ambient(web + authorization("allow", { rules }) + authorization("deny", { action: "DENY", rules })),
    );
    const [deny, allow] = managerOf(at(listener, 8080)).httpFilters.filter(
      ({ name }: Json) => name === "envoy.filters.http.rbac",
    );
    expect(allow.typedConfig.rules.policies ?? {}).toEqual({});
    expect(JSON.stringify(deny.typedConfig.rules.policies)).toContain(".*/ns/x/.*");
    expect(JSON.stringify(deny.typedConfig.rules.policies)).not.toContain("directRemoteIp");
  });

  it("has the ports of a Sidecar's ingress listeners, including bound ones", () => {
    const ingress = [
      {
        port: { number: 9443, protocol: "HTTP", name: "http" },
        bind: "0.0.0.0",
        captureMode: "NONE",
        defaultEndpoint: "127.0.0.1:8080",
      },
      { port: { number: 9444, protocol: "TCP", name: "tcp" }, defaultEndpoint: "127.0.0.1:8081" },
    ];
    const listener = inner(
      ambient(web + istioYaml("Sidecar", "web", { workloadSelector: { labels: { app: "web" } }, ingress })),
    );
    expect(chainLines(listener, 9443)).toEqual(["any -> http"]);
    expect(chainLines(listener, 9444)).toEqual(["any -> tcp"]);
    expect(chainLines(listener, 8080)).toEqual([]);
  });

  it("leaves the other listeners unchanged", () => {
    const others = (metadata: NonNullable<ProxyOptions["metadata"]>): Map<string, string> => {
      const set = ambient()
        .proxy({ ...self, metadata })
        .set("envoy.config.listener.v3.Listener");
      return new Map(
        [...set].filter(({ name }) => !/connect_|internal/.test(name)).map(({ name, version }) => [name, version]),
      );
    };
    expect(others({ ENABLE_HBONE: "true" })).toEqual(others({}));
    expect(others({}).size).toBeGreaterThan(2);
  });
});
