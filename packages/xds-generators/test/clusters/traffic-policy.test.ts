import { describe, expect, it } from "vitest";
import { destinationRule, podYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { clusterType, type Json, type ProxyOptions, TestMesh } from "../mesh.js";

const host = "cart.shop.svc.cluster.local";
const cart = `outbound|80||${host}`;
const httpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/** The cluster of `cart` with a traffic policy. */
function clusterWith(
  trafficPolicy: object,
  options: { mesh?: object; proxy?: ProxyOptions; port?: string } = {},
): Json {
  const { mesh = {}, proxy = {}, port = "http:80" } = options;
  return new TestMesh(serviceYaml("cart", { ports: [port] }) + destinationRule(host, { trafficPolicy }), mesh as never)
    .proxy(proxy)
    .cluster(cart);
}

describe("a connection pool", () => {
  it("limits connections, requests and retries; 0 means no limit", () => {
    const { circuitBreakers } = clusterWith({
      connectionPool: {
        tcp: { maxConnections: 10 },
        http: { http1MaxPendingRequests: 11, http2MaxRequests: 12, maxRetries: 0 },
      },
    });
    expect(circuitBreakers.thresholds).toEqual([
      { maxConnections: 10, maxPendingRequests: 11, maxRequests: 12, maxRetries: 4294967295 },
    ]);
  });

  it("sets timeouts, durations and requests per connection, HTTP's idle timeout before TCP's", () => {
    const cluster = clusterWith({
      connectionPool: {
        tcp: { connectTimeout: "3s", idleTimeout: "40s", maxConnectionDuration: "60s" },
        http: { idleTimeout: "30s", maxRequestsPerConnection: 5 },
      },
    });
    expect(cluster.connectTimeout).toBe("3s");
    expect(cluster.typedExtensionProtocolOptions[httpOptions]).toMatchObject({
      commonHttpProtocolOptions: { idleTimeout: "30s", maxConnectionDuration: "60s", maxRequestsPerConnection: 5 },
      explicitHttpConfig: { httpProtocolOptions: {} },
    });
  });

  it("sets streams and keepalive of HTTP/2 if the cluster uses it", () => {
    const pool = {
      connectionPool: { http: { maxConcurrentStreams: 7, http2KeepAlive: { interval: "5s", timeout: "2s" } } },
    };
    expect(
      clusterWith(pool, { port: "grpc:80" }).typedExtensionProtocolOptions[httpOptions].explicitHttpConfig,
    ).toEqual({
      http2ProtocolOptions: { maxConcurrentStreams: 7, connectionKeepalive: { interval: "5s", timeout: "2s" } },
    });
    expect(JSON.stringify(clusterWith(pool))).not.toContain("maxConcurrentStreams");
  });

  it("sets TCP keepalive of the mesh, overridden by the policy", () => {
    const mesh = { tcpKeepalive: { time: "10s", interval: "20s", probes: 3 } };
    expect(
      clusterWith({ connectionPool: { tcp: { maxConnections: 1 } } }, { mesh }).upstreamConnectionOptions.tcpKeepalive,
    ).toEqual({ keepaliveProbes: 3, keepaliveTime: 10, keepaliveInterval: 20 });
    const policy = { connectionPool: { tcp: { tcpKeepalive: { time: "99s" } } } };
    expect(clusterWith(policy, { mesh }).upstreamConnectionOptions.tcpKeepalive).toEqual({
      keepaliveProbes: 3,
      keepaliveTime: 99,
      keepaliveInterval: 20,
    });
    expect(clusterWith({ connectionPool: { tcp: { tcpKeepalive: {} } } }).upstreamConnectionOptions).toEqual({
      tcpKeepalive: {},
    });
  });

  it.each([
    ["the policy", "UPGRADE", "DO_NOT_UPGRADE", "tcp:80", true],
    ["the mesh, for HTTP", "DEFAULT", "UPGRADE", "http:80", true],
    ["the mesh, not for TCP", "DEFAULT", "UPGRADE", "tcp:80", false],
    ["nobody", "DO_NOT_UPGRADE", "UPGRADE", "http:80", false],
  ])("upgrades to HTTP/2 if %s says so", (_, policy, mesh, port, upgraded) => {
    const cluster = clusterWith(
      { connectionPool: { http: { h2UpgradePolicy: policy } } },
      { mesh: { h2UpgradePolicy: mesh }, port },
    );
    expect(JSON.stringify(cluster.typedExtensionProtocolOptions ?? {}).includes("http2ProtocolOptions")).toBe(upgraded);
  });

  it("can use the client's protocol, which is not an upgrade", () => {
    const cluster = clusterWith(
      { connectionPool: { http: { useClientProtocol: true } } },
      { mesh: { h2UpgradePolicy: "UPGRADE" } },
    );
    expect(cluster.typedExtensionProtocolOptions[httpOptions]).toMatchObject({ useDownstreamProtocolConfig: {} });
  });

  it("is the mesh's if the policy has none, also for PassthroughCluster", () => {
    const mesh = {
      defaultTrafficPolicy: {
        connectionPool: { tcp: { maxConnections: 5 } },
        outlierDetection: { consecutive5xxErrors: 3 },
      },
    };
    const proxy = new TestMesh(serviceYaml("cart"), mesh).proxy();
    expect(proxy.cluster(cart)).toMatchObject({
      circuitBreakers: { thresholds: [{ maxConnections: 5 }] },
      outlierDetection: { consecutive5xx: 3 },
    });
    expect(proxy.cluster("PassthroughCluster")).toMatchObject({
      circuitBreakers: { thresholds: [{ maxConnections: 5 }] },
    });
    expect(proxy.cluster("PassthroughCluster").outlierDetection).toBeUndefined();
  });
});

describe("a retry budget", () => {
  it("defaults to 20 % and 3 retries", () => {
    expect(clusterWith({ retryBudget: {} }).circuitBreakers.thresholds[0].retryBudget).toEqual({
      budgetPercent: { value: 20 },
      minRetryConcurrency: 3,
    });
    const stated = { percent: 50, minRetryConcurrency: 8, budgetInterval: "4s" };
    expect(clusterWith({ retryBudget: stated }).circuitBreakers.thresholds[0].retryBudget).toEqual({
      budgetPercent: { value: 50 },
      minRetryConcurrency: 8,
      budgetInterval: "4s",
    });
  });
});

describe("load balancing by utilization", () => {
  const policyOf = (backendUtilization: object): Json =>
    clusterWith({ loadBalancer: { backendUtilization } }).loadBalancingPolicy.policies[0].typedExtensionConfig;

  it("is Envoy's client-side weighted round robin, without a penalty for errors by default", () => {
    const { name, typedConfig } = policyOf({});
    expect(name).toBe("envoy.load_balancing_policies.client_side_weighted_round_robin");
    expect(typedConfig).toMatchObject({ errorUtilizationPenalty: 0 });
  });

  it("has its periods and its penalty", () => {
    const periods = { weightStabilizationPeriod: "5s", weightExpirationPeriod: "60s", weightUpdatePeriod: "2s" };
    expect(policyOf({ ...periods, errorUtilizationPenaltyPercent: 150 }).typedConfig).toMatchObject({
      blackoutPeriod: "5s",
      weightExpirationPeriod: "60s",
      weightUpdatePeriod: "2s",
      errorUtilizationPenalty: 1.5,
    });
  });
});

describe("outlier detection", () => {
  it("counts errors, disables a count with 0, and never uses the success rate", () => {
    const { outlierDetection } = clusterWith({
      outlierDetection: {
        consecutive5xxErrors: 7,
        consecutiveGatewayErrors: 0,
        interval: "30s",
        baseEjectionTime: "60s",
        maxEjectionPercent: 50,
      },
    });
    expect(outlierDetection).toEqual({
      consecutive5xx: 7,
      enforcingConsecutive5xx: 100,
      consecutiveGatewayFailure: 0,
      enforcingConsecutiveGatewayFailure: 0,
      enforcingSuccessRate: 0,
      interval: "30s",
      baseEjectionTime: "60s",
      maxEjectionPercent: 50,
    });
  });

  it("enforces a failure percentage, also of local origin errors if these are split; 0 means none", () => {
    const detection = (outlierDetection: object): Json => clusterWith({ outlierDetection }).outlierDetection;
    expect(detection({ failurePercentageThreshold: 40 })).toEqual({
      failurePercentageThreshold: 40,
      enforcingFailurePercentage: 100,
      enforcingSuccessRate: 0,
    });
    expect(detection({ failurePercentageThreshold: 40, splitExternalLocalOriginErrors: true })).toMatchObject({
      enforcingFailurePercentage: 100,
      enforcingFailurePercentageLocalOrigin: 100,
    });
    expect(detection({ failurePercentageThreshold: 0 })).toEqual({ enforcingSuccessRate: 0 });
  });

  it("splits local origin errors if configured", () => {
    const { outlierDetection } = clusterWith({
      outlierDetection: { splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 4 },
    });
    expect(outlierDetection).toMatchObject({
      splitExternalLocalOriginErrors: true,
      consecutiveLocalOriginFailure: 4,
      enforcingConsecutiveLocalOriginFailure: 100,
      enforcingLocalOriginSuccessRate: 0,
    });
  });

  it("sets the panic threshold, unless unhealthy endpoints must be sent", () => {
    const policy = { outlierDetection: { minHealthPercent: 30 } };
    expect(clusterWith(policy).commonLbConfig.healthyPanicThreshold).toEqual({ value: 30 });
    const preferring =
      serviceYaml("cart", { spec: { trafficDistribution: "PreferSameZone" } }) +
      destinationRule(host, { trafficPolicy: policy });
    expect(new TestMesh(preferring).proxy().cluster(cart).commonLbConfig.healthyPanicThreshold).toEqual({});
  });

  it("can count selected status codes", () => {
    const matcher = (codes: number[]): Json =>
      clusterWith({ outlierDetection: { outlierDetectionHttpErrorCodes: codes } }).typedExtensionProtocolOptions[
        httpOptions
      ].outlierDetection.errorMatcher;
    expect(matcher([503])).toEqual({
      httpResponseHeadersMatch: { headers: [{ name: ":status", stringMatch: { exact: "503" } }] },
    });
    expect(matcher([502, 503]).orMatch.rules).toHaveLength(2);
  });
});

describe("a load balancer", () => {
  it.each([
    [{ simple: "ROUND_ROBIN" }, undefined],
    [{ simple: "RANDOM" }, "RANDOM"],
    [{ simple: "LEAST_CONN" }, "LEAST_REQUEST"],
    [{ simple: "UNSPECIFIED" }, "LEAST_REQUEST"],
    [{ consistentHash: { useSourceIp: true } }, "RING_HASH"],
    [{ consistentHash: { useSourceIp: true, maglev: { tableSize: 65537 } } }, "MAGLEV"],
  ])("with %j is %s", (loadBalancer, policy) => {
    expect(clusterWith({ loadBalancer }).lbPolicy).toBe(policy);
  });

  it("with a consistent hash has a ring of 1024 by default", () => {
    expect(clusterWith({ loadBalancer: { consistentHash: { useSourceIp: true } } }).ringHashLbConfig).toEqual({
      minimumRingSize: "1024",
    });
    expect(
      clusterWith({ loadBalancer: { consistentHash: { useSourceIp: true, minimumRingSize: 8 } } }).ringHashLbConfig,
    ).toEqual({ minimumRingSize: "8" });
    expect(
      clusterWith({ loadBalancer: { consistentHash: { useSourceIp: true, ringHash: { minimumRingSize: 16 } } } })
        .ringHashLbConfig,
    ).toEqual({ minimumRingSize: "16" });
    expect(
      clusterWith({ loadBalancer: { consistentHash: { useSourceIp: true, ringHash: {} } } }).ringHashLbConfig,
    ).toBeUndefined();
  });

  it("warms up endpoints", () => {
    const warmup = { duration: "60s", minimumPercent: 20, aggression: 2 };
    expect(
      clusterWith({ loadBalancer: { simple: "ROUND_ROBIN", warmup } }).roundRobinLbConfig.slowStartConfig,
    ).toMatchObject({
      slowStartWindow: "60s",
      aggression: { defaultValue: 2 },
      minWeightPercent: { value: 20 },
    });
    expect(
      clusterWith({ loadBalancer: { simple: "LEAST_REQUEST", warmup: { duration: "60s" } } }).leastRequestLbConfig
        .slowStartConfig,
    ).toMatchObject({
      aggression: { defaultValue: 1 },
      minWeightPercent: { value: 10 },
    });
    expect(clusterWith({ loadBalancer: { warmupDurationSecs: "30s" } }).leastRequestLbConfig.slowStartConfig).toEqual({
      slowStartWindow: "30s",
    });
  });

  it("PASSTHROUGH uses the original destination", () => {
    const cluster = clusterWith({ loadBalancer: { simple: "PASSTHROUGH" } });
    expect(cluster).toMatchObject({ type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" });
    expect(cluster.edsClusterConfig).toBeUndefined();
  });

  it("for Redis is MAGLEV with the Redis filter", () => {
    const mesh = new TestMesh(serviceYaml("cart", { ports: ["redis:80"] }));
    expect(mesh.proxy().cluster(cart).lbPolicy).toBe("LEAST_REQUEST");
    mesh.set("PILOT_ENABLE_REDIS_FILTER", "true");
    expect(mesh.proxy().cluster(cart).lbPolicy).toBe("MAGLEV");
  });

  it("for Redis stays MAGLEV under PASSTHROUGH, except for a subset with PASSTHROUGH of its own", () => {
    const passing = { loadBalancer: { simple: "PASSTHROUGH" } };
    const subsets = [
      { name: "sharded" },
      { name: "passing", trafficPolicy: passing },
      { name: "by-port", trafficPolicy: { portLevelSettings: [{ port: { number: 80 }, ...passing }] } },
    ];
    const mesh = new TestMesh(
      serviceYaml("cart", { ports: ["redis:80"] }) + destinationRule(host, { trafficPolicy: passing, subsets }),
    );
    const found = (): Json =>
      ["", "sharded", "passing", "by-port"].map((subset) => {
        const { type, lbPolicy } = mesh.proxy().cluster(`outbound|80|${subset}|${host}`);
        return `${type} ${lbPolicy}`;
      });
    const assigned = (): number => mesh.proxy().names("envoy.config.endpoint.v3.ClusterLoadAssignment").length;
    expect(found()).toEqual(Array(4).fill("ORIGINAL_DST CLUSTER_PROVIDED"));
    expect(assigned()).toBe(0);
    mesh.set("PILOT_ENABLE_REDIS_FILTER", "true");
    expect(found()).toEqual(["EDS MAGLEV", "EDS MAGLEV", "ORIGINAL_DST CLUSTER_PROVIDED", "EDS MAGLEV"]);
    expect(assigned()).toBe(3);
  });

  it("is locality-weighted if traffic is distributed, or if it fails over by configuration with outlier detection", () => {
    const weighted = (trafficPolicy: object): boolean =>
      clusterWith(trafficPolicy).commonLbConfig.localityWeightedLbConfig !== undefined;
    const distribute = { localityLbSetting: { distribute: [{ from: "a/*", to: { "a/*": 100 } }] } };
    const failover = { localityLbSetting: { failover: [{ from: "a", to: "b" }] } };
    expect(weighted({ loadBalancer: distribute })).toBe(true);
    expect(weighted({ loadBalancer: failover })).toBe(false);
    expect(weighted({ loadBalancer: failover, outlierDetection: {} })).toBe(true);
    expect(weighted({ outlierDetection: {} })).toBe(false);
  });

  it("is zone-aware if configured", () => {
    const zone = (zoneAwareLbSetting: object): Json =>
      clusterWith({ loadBalancer: { zoneAwareLbSetting } }).commonLbConfig.zoneAwareLbConfig;
    expect(zone({ minClusterSize: 4 })).toEqual({ minClusterSize: "4" });
    expect(zone({ enabled: false })).toEqual({ routingEnabled: {} });
  });
});

describe("TLS settings of a policy", () => {
  const tlsOf = (cluster: Json): Json => cluster.transportSocket?.typedConfig;

  it("SIMPLE verifies the request's host against the system's roots", () => {
    const cluster = clusterWith({ tls: { mode: "SIMPLE" } });
    expect(tlsOf(cluster).commonTlsContext).toMatchObject({
      combinedValidationContext: { validationContextSdsSecretConfig: { name: "file-root:system" } },
      tlsParams: { tlsMinimumProtocolVersion: "TLSv1_2", tlsMaximumProtocolVersion: "TLSv1_3" },
    });
    expect(cluster.typedExtensionProtocolOptions[httpOptions].upstreamHttpProtocolOptions).toEqual({
      autoSni: true,
      autoSanValidation: true,
    });
    expect(cluster.metadata.filterMetadata.istio.alpn_override).toBe("false");
  });

  it("SIMPLE with SNI and subject alternative names uses these, and can skip verification", () => {
    const cluster = clusterWith({
      tls: { mode: "SIMPLE", sni: "api.example.com", subjectAltNames: ["api.example.com"], caCertificates: "/ca.pem" },
    });
    expect(tlsOf(cluster)).toMatchObject({ sni: "api.example.com" });
    expect(JSON.stringify(tlsOf(cluster))).toContain('{"exact":"api.example.com"}');
    expect(JSON.stringify(cluster)).not.toContain("autoSni");
    const skipping = clusterWith({ tls: { mode: "SIMPLE", insecureSkipVerify: true } });
    expect(tlsOf(skipping).commonTlsContext.validationContext).toEqual({});
    expect(skipping.typedExtensionProtocolOptions[httpOptions].upstreamHttpProtocolOptions).toEqual({ autoSni: true });
  });

  it("revocation lists are served by an agent that can, together with the roots, and else read by Envoy", () => {
    const tls = { mode: "SIMPLE", caCertificates: "/ca.pem", caCrl: "/crl.pem" };
    expect(tlsOf(clusterWith({ tls })).commonTlsContext.combinedValidationContext).toMatchObject({
      defaultValidationContext: { crl: { filename: "/crl.pem" } },
      validationContextSdsSecretConfig: { name: "file-root:/ca.pem" },
    });
    const named = (settings: object): unknown => {
      const cluster = clusterWith({ tls: settings }, { proxy: { metadata: { FILE_CRL: "true" } } });
      const { defaultValidationContext, validationContextSdsSecretConfig } =
        tlsOf(cluster).commonTlsContext.combinedValidationContext;
      expect(defaultValidationContext).not.toHaveProperty("crl");
      return validationContextSdsSecretConfig.name;
    };
    expect(named(tls)).toBe("file-root:/ca.pem~/crl.pem");
    expect(named({ mode: "SIMPLE", caCrl: "/crl.pem" })).toBe("file-root:system~/crl.pem");
    expect(named({ mode: "SIMPLE", caCertificates: "/ca.pem" })).toBe("file-root:/ca.pem");
  });

  it("MUTUAL has the policy's certificates", () => {
    const cluster = clusterWith({
      tls: { mode: "MUTUAL", clientCertificate: "/c.pem", privateKey: "/k.pem", caCertificates: "/ca.pem" },
    });
    expect(tlsOf(cluster).commonTlsContext).toMatchObject({
      tlsCertificateSdsSecretConfigs: [
        {
          name: "file-cert:/c.pem~/k.pem",
          sdsConfig: { apiConfigSource: { grpcServices: [{ envoyGrpc: { clusterName: "sds-grpc" } }] } },
        },
      ],
      combinedValidationContext: { validationContextSdsSecretConfig: { name: "file-root:/ca.pem" } },
    });
    const own = clusterWith(
      { tls: { mode: "MUTUAL", clientCertificate: "/c.pem", privateKey: "/k.pem" } },
      { proxy: { metadata: { "file-credential": "true" } } },
    );
    expect(JSON.stringify(tlsOf(own))).toContain("sds-files-grpc");
  });

  it("ISTIO_MUTUAL applies to every endpoint, with the service's identities unless the policy has others", () => {
    const yaml = serviceYaml("cart") + podYaml("cart", "10.2.0.1");
    const sans = (tls: object): Json =>
      tlsOf(new TestMesh(yaml + destinationRule(host, { trafficPolicy: { tls } })).proxy().cluster(cart))
        .commonTlsContext.combinedValidationContext.defaultValidationContext.matchSubjectAltNames;
    expect(sans({ mode: "ISTIO_MUTUAL" })).toEqual([{ exact: "spiffe://cluster.local/ns/shop/sa/cart" }]);
    expect(sans({ mode: "ISTIO_MUTUAL", subjectAltNames: ["other"] })).toEqual([{ exact: "other" }]);
  });

  it("DISABLE is plaintext", () => {
    const cluster = clusterWith({ tls: { mode: "DISABLE" } });
    expect(cluster.transportSocket ?? cluster.transportSocketMatches).toBeUndefined();
  });

  it("with a credential apply to gateways, and to sidecars that the policy selects", () => {
    const tls = { mode: "SIMPLE", credentialName: "client" };
    const rule = (spec: object): string => destinationRule(host, { trafficPolicy: { tls }, ...spec });
    const mesh = new TestMesh(serviceYaml("cart") + rule({}));
    const secret = (proxy: Json): Json =>
      tlsOf(proxy.cluster(cart))?.commonTlsContext.combinedValidationContext.validationContextSdsSecretConfig;
    expect(secret(mesh.proxy({ type: "router" }))).toEqual({
      name: "kubernetes://client-cacert",
      sdsConfig: { ads: {}, resourceApiVersion: "V3" },
    });
    expect(secret(mesh.proxy())).toBeUndefined();
    mesh.apply(rule({ workloadSelector: { matchLabels: { app: "web" } } }));
    expect(secret(mesh.proxy({ labels: { app: "web" } })).name).toBe("kubernetes://client-cacert");
  });

  it("verify by the roots of caCertCredentialName, apart from the certificate", () => {
    const rule = (tls: object, spec: object = {}): string => destinationRule(host, { trafficPolicy: { tls }, ...spec });
    const selected = { workloadSelector: { matchLabels: { app: "web" } } };
    const used = (tls: object, spec: object, proxy: object): readonly Json[] => {
      const mesh = new TestMesh(serviceYaml("cart") + rule(tls, spec));
      const common = tlsOf(mesh.proxy(proxy as never).cluster(cart))?.commonTlsContext;
      return [
        common?.tlsCertificateSdsSecretConfigs?.[0].name,
        common?.combinedValidationContext?.validationContextSdsSecretConfig.name,
      ];
    };
    const web = { labels: { app: "web" } };
    const mutual = { mode: "MUTUAL", credentialName: "client", caCertCredentialName: "trust" };
    for (const [spec, proxy] of [
      [selected, web],
      [{}, { type: "router" }],
    ] as const)
      expect(used(mutual, spec, proxy)).toEqual(["kubernetes://client", "kubernetes://trust-cacert"]);
    expect(used({ ...mutual, caCertCredentialName: "configmap://shop/trust" }, selected, web)[1]).toBe(
      "configmap://shop/trust",
    );
    const files = { mode: "MUTUAL", clientCertificate: "/c", privateKey: "/k", caCertificates: "/r" };
    const withFiles = { ...files, caCertCredentialName: "trust-cacert" };
    expect(used(withFiles, selected, web)).toEqual(["file-cert:/c~/k", "kubernetes://trust-cacert"]);
    // As documented, sidecars without a selector keep the paths.
    expect(used(withFiles, {}, {})).toEqual(["file-cert:/c~/k", "file-root:/r"]);
    expect(used({ mode: "SIMPLE", caCertCredentialName: "trust" }, {}, {})[1]).toBe("file-root:system");
    expect(used({ mode: "SIMPLE", caCertCredentialName: "trust" }, selected, web)[1]).toBe("kubernetes://trust-cacert");
  });

  it("verify against the subject alternative names of a ServiceEntry", () => {
    const entry = serviceEntry("api", {
      hosts: ["api.example.com"],
      location: "MESH_EXTERNAL",
      resolution: "DNS",
      subjectAltNames: ["api.internal"],
      ports: [{ number: 443, name: "https", protocol: "HTTPS" }],
    });
    const text = JSON.stringify(
      new TestMesh(entry + destinationRule("api.example.com", { trafficPolicy: { tls: { mode: "SIMPLE" } } }))
        .proxy()
        .cluster("outbound|443||api.example.com"),
    );
    expect(text).toContain('{"exact":"api.internal"}');
  });

  it("have the mesh's curves and ciphers, and follow the compliance policy", () => {
    const mesh = new TestMesh(
      serviceYaml("cart") + destinationRule(host, { trafficPolicy: { tls: { mode: "SIMPLE" } } }),
      {
        tlsDefaults: { ecdhCurves: ["P-256"], cipherSuites: ["AES128-SHA", "ECDHE-RSA-AES128-GCM-SHA256"] },
      },
    );
    expect(tlsOf(mesh.proxy().cluster(cart)).commonTlsContext.tlsParams).toMatchObject({
      ecdhCurves: ["P-256"],
      cipherSuites: ["AES128-SHA", "ECDHE-RSA-AES128-GCM-SHA256"],
    });
    mesh.set("COMPLIANCE_POLICY", "fips-140-2");
    expect(tlsOf(mesh.proxy().cluster(cart)).commonTlsContext.tlsParams).toEqual({
      tlsMinimumProtocolVersion: "TLSv1_2",
      tlsMaximumProtocolVersion: "TLSv1_2",
      cipherSuites: ["ECDHE-RSA-AES128-GCM-SHA256"],
    });
  });
});

describe("the PROXY protocol", () => {
  it("wraps every transport socket", () => {
    const plain = clusterWith({ proxyProtocol: { version: "V2" }, tls: { mode: "DISABLE" } });
    expect(plain.transportSocket).toMatchObject({
      name: "envoy.transport_sockets.upstream_proxy_protocol",
      typedConfig: { config: { version: "V2" }, transportSocket: { name: "raw_buffer" } },
    });
    const matches = clusterWith({ proxyProtocol: { version: "V1" } }).transportSocketMatches;
    expect(matches.map((match: Json) => match.transportSocket.name)).toEqual(
      Array(2).fill("envoy.transport_sockets.upstream_proxy_protocol"),
    );
  });
});

describe("subsets", () => {
  const subsets = [
    { name: "v1", labels: { version: "v1" } },
    {
      name: "v2",
      labels: { version: "v2" },
      trafficPolicy: { loadBalancer: { simple: "RANDOM" }, connectionPool: { tcp: { maxConnections: 3 } } },
    },
  ];

  it("have a cluster for each port, with their own policy over the rule's", () => {
    const mesh = new TestMesh(
      serviceYaml("cart") +
        destinationRule(host, {
          trafficPolicy: { loadBalancer: { simple: "ROUND_ROBIN" }, outlierDetection: {} },
          subsets,
        }),
    );
    const proxy = mesh.proxy();
    expect(proxy.names(clusterType).filter((name) => name.startsWith("outbound"))).toEqual(
      [cart, `outbound|80|v1|${host}`, `outbound|80|v2|${host}`].sort(),
    );
    expect(proxy.cluster(`outbound|80|v1|${host}`)).toMatchObject({
      metadata: {
        filterMetadata: {
          istio: {
            subset: "v1",
            config: "/apis/networking.istio.io/v1/namespaces/shop/destination-rule/cart-shop-svc-cluster-local",
          },
        },
      },
      outlierDetection: {},
    });
    expect(proxy.cluster(`outbound|80|v1|${host}`).lbPolicy).toBeUndefined();
    expect(proxy.cluster(`outbound|80|v2|${host}`)).toMatchObject({
      lbPolicy: "RANDOM",
      circuitBreakers: { thresholds: [{ maxConnections: 3 }] },
      outlierDetection: {},
    });
  });

  it("follow edits of the rule, and leave other clusters unchanged", () => {
    const mesh = new TestMesh(serviceYaml("cart") + serviceYaml("other"));
    const proxy = mesh.proxy();
    const other = proxy.resource(clusterType, "outbound|80||other.shop.svc.cluster.local");
    mesh.apply(destinationRule(host, { subsets }));
    expect(proxy.has(clusterType, `outbound|80|v1|${host}`)).toBe(true);
    mesh.remove(destinationRule(host, { subsets }));
    expect(proxy.has(clusterType, `outbound|80|v1|${host}`)).toBe(false);
    expect(proxy.resource(clusterType, "outbound|80||other.shop.svc.cluster.local")).toBe(other);
  });
});
