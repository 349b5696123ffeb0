import { describe, expect, it } from "vitest";
import { destinationRule, istioYaml, serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh } from "../mesh.js";
import { filterNames, filterOf, httpChain, listenerNames, listenerOf, managerOf, tcpProxy } from "./listener-parts.js";

const router = { type: "router", namespace: "istio-system", name: "ingress", labels: { istio: "ingress" } } as const;
const gateway = (servers: readonly object[], name = "gateway"): string =>
  istioYaml("Gateway", name, { selector: { istio: "ingress" }, servers }, "istio-system");
const server = (number: number, protocol: string, hosts: readonly string[], more: object = {}): object => ({
  port: { number, name: `${protocol.toLowerCase()}-${number}`, protocol },
  hosts,
  ...more,
});
const simple = { tls: { mode: "SIMPLE", credentialName: "cert" } };
const secrets = (chain: Json): Json => chain.transportSocket.typedConfig.commonTlsContext;

describe("listeners of a gateway", () => {
  it("do not exist without a Gateway that selects it", () => {
    const mesh = new TestMesh(serviceYaml("cart") + gateway([server(80, "HTTP", ["*"])]));
    expect(listenerNames(mesh.proxy({ ...router, labels: { istio: "egress" } }))).toEqual([]);
    expect(listenerNames(mesh.proxy(router))).toEqual(["0.0.0.0_80"]);
  });

  it("share one route configuration for HTTP at a port", () => {
    const proxy = new TestMesh(
      gateway([server(80, "HTTP", ["a.example.com"])]) + gateway([server(80, "HTTP2", ["b.example.com"])], "second"),
    ).proxy(router);
    const listener = listenerOf(proxy, "0.0.0.0_80");
    expect(listener.filterChains).toHaveLength(1);
    expect(managerOf(httpChain(listener))).toMatchObject({
      statPrefix: "outbound_0.0.0.0_80;",
      rds: { routeConfigName: "http.80" },
      useRemoteAddress: true,
      forwardClientCertDetails: "SANITIZE_SET",
    });
  });

  it("listen on the target port of the gateway's own service", () => {
    const service = serviceYaml("ingress", {
      namespace: "istio-system",
      ports: ["http:80:8080"],
      spec: { selector: { istio: "ingress" } },
    });
    const pod = `---\n${JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "ingress", namespace: "istio-system", labels: { istio: "ingress" } }, spec: { containers: [{ name: "proxy" }] }, status: { phase: "Running", podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }] } })}\n`;
    expect(listenerNames(new TestMesh(service + pod + gateway([server(80, "HTTP", ["*"])])).proxy(router))).toEqual([
      "0.0.0.0_8080",
    ]);
  });

  it("omit privileged ports of an unprivileged pod", () => {
    const mesh = new TestMesh(gateway([server(80, "HTTP", ["*"]), server(8080, "HTTP", ["*"])]));
    expect(listenerNames(mesh.proxy({ ...router, metadata: { UNPRIVILEGED_POD: "true" } }))).toEqual(["0.0.0.0_8080"]);
  });

  it("bind to the address of the server", () => {
    const mesh = new TestMesh(gateway([server(80, "HTTP", ["*"], { bind: "10.1.0.1" })]));
    expect(managerOf(httpChain(listenerOf(mesh.proxy(router), "10.1.0.1_80"))).rds.routeConfigName).toBe(
      "http.80.10.1.0.1",
    );
  });
});

describe("HTTPS", () => {
  it("is matched by SNI, with a certificate and routes per server", () => {
    const mesh = new TestMesh(
      gateway([
        server(443, "HTTPS", ["a.example.com", "shop/a2.example.com"], simple),
        {
          ...server(443, "HTTPS", ["b.example.com"], { tls: { mode: "MUTUAL", credentialName: "other" } }),
          port: { number: 443, name: "https-b", protocol: "HTTPS" },
          name: "b",
        },
        server(8443, "HTTPS", ["*"], simple),
      ]),
    );
    const [a, b] = listenerOf(mesh.proxy(router), "0.0.0.0_443").filterChains;
    expect(a.filterChainMatch.serverNames).toEqual(["a.example.com", "a2.example.com"]);
    expect(secrets(a).tlsCertificateSdsSecretConfigs[0]).toMatchObject({
      name: "kubernetes://cert",
      sdsConfig: { ads: {} },
    });
    expect(a.transportSocket.typedConfig.requireClientCertificate).toBe(false);
    expect(managerOf(a).rds.routeConfigName).toBe("https.443.https-443.gateway.istio-system");
    expect(secrets(b).combinedValidationContext.validationContextSdsSecretConfig.name).toBe(
      "kubernetes://other-cacert",
    );
    expect(b.transportSocket.typedConfig.requireClientCertificate).toBe(true);
    expect(managerOf(b).statPrefix).toBe("b");
    expect(b.transportSocketConnectTimeout).toBe("15s");
    expect(listenerOf(mesh.proxy(router), "0.0.0.0_8443").filterChains[0].filterChainMatch).toBeUndefined();
  });

  it("rejects a host that another server has, and keeps the others", () => {
    const mesh = new TestMesh(
      gateway([server(443, "HTTPS", ["a.example.com"], simple)]) +
        gateway(
          [server(443, "HTTPS", ["a.example.com"], simple), server(8443, "HTTPS", ["c.example.com"], simple)],
          "second",
        ),
    );
    expect(listenerNames(mesh.proxy(router))).toEqual(["0.0.0.0_443", "0.0.0.0_8443"]);
    expect(listenerOf(mesh.proxy(router), "0.0.0.0_443").filterChains).toHaveLength(1);
  });

  it("has versions, ciphers and curves, without those unknown to Envoy", () => {
    const tls = {
      ...simple.tls,
      minProtocolVersion: "TLSV1_2",
      maxProtocolVersion: "TLSV1_3",
      cipherSuites: ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
    };
    const [chain] = listenerOf(
      new TestMesh(gateway([server(443, "HTTPS", ["a.example.com"], { tls })])).proxy(router),
      "0.0.0.0_443",
    ).filterChains;
    expect(secrets(chain).tlsParams).toEqual({
      tlsMinimumProtocolVersion: "TLSv1_2",
      tlsMaximumProtocolVersion: "TLSv1_3",
      cipherSuites: ["ECDHE-RSA-AES128-GCM-SHA256"],
    });
  });

  it("offers the protocols of alpnProtocols", () => {
    const offered = (tls: object): unknown =>
      secrets(
        listenerOf(
          new TestMesh(gateway([server(443, "HTTPS", ["a.example.com"], { tls: { ...simple.tls, ...tls } })])).proxy(
            router,
          ),
          "0.0.0.0_443",
        ).filterChains[0],
      ).alpnProtocols;
    expect(offered({ alpnProtocols: ["http/1.1"] })).toEqual(["http/1.1"]);
    expect(offered({})).toEqual(["h2", "http/1.1"]);
  });

  it("uses certificate files through the agent", () => {
    const tls = {
      mode: "MUTUAL",
      serverCertificate: "/c.pem",
      privateKey: "/k.pem",
      caCertificates: "/ca.pem",
      subjectAltNames: ["client"],
    };
    const [chain] = listenerOf(
      new TestMesh(gateway([server(443, "HTTPS", ["a.example.com"], { tls })])).proxy(router),
      "0.0.0.0_443",
    ).filterChains;
    expect(secrets(chain).tlsCertificateSdsSecretConfigs[0].name).toBe("file-cert:/c.pem~/k.pem");
    expect(secrets(chain).combinedValidationContext).toMatchObject({
      defaultValidationContext: { matchSubjectAltNames: [{ exact: "client" }] },
      validationContextSdsSecretConfig: { name: "file-root:/ca.pem" },
    });
  });

  it("uses revocation lists through an agent that serves them with the roots, and else lets Envoy read them", () => {
    const files = { serverCertificate: "/c.pem", privateKey: "/k.pem", caCertificates: "/ca.pem" };
    const roots = (tls: object, metadata: Record<string, string>): readonly [unknown, unknown] => {
      const mesh = new TestMesh(gateway([server(443, "HTTPS", ["a.example.com"], { tls })]));
      const [chain] = listenerOf(mesh.proxy({ ...router, metadata }), "0.0.0.0_443").filterChains;
      const { defaultValidationContext, validationContextSdsSecretConfig } = secrets(chain).combinedValidationContext;
      return [validationContextSdsSecretConfig.name, defaultValidationContext.crl?.filename];
    };
    const mutual = { mode: "MUTUAL", ...files, caCrl: "/crl.pem" };
    const own = { mode: "ISTIO_MUTUAL", caCrl: "/crl.pem" };
    expect(roots(mutual, {})).toEqual(["file-root:/ca.pem", "/crl.pem"]);
    expect(roots(mutual, { FILE_CRL: "true" })).toEqual(["file-root:/ca.pem~/crl.pem", undefined]);
    expect(roots(own, { FILE_CRL: "true" })).toEqual(["ROOTCA~/crl.pem", undefined]);
    // Another server has the workload's roots, which serves no lists of files.
    expect(roots(own, { FILE_CRL: "true", "file-credential": "true" })).toEqual(["ROOTCA", "/crl.pem"]);
  });
});

describe("TCP and TLS servers", () => {
  const services =
    serviceYaml("db", { ports: ["tcp:5432"] }) + serviceYaml("other", { ip: "10.96.0.2", ports: ["tls:443"] });
  const bound = (name: string, spec: object): string =>
    istioYaml("VirtualService", name, { gateways: ["istio-system/gateway"], ...spec });
  const to = (host: string, port: number): object => ({ destination: { host, port: { number: port } } });

  it("use the TCP route for their port, and do not exist without one", () => {
    const mesh = new TestMesh(services + gateway([server(5432, "TCP", ["*"])]));
    const proxy = mesh.proxy(router);
    expect(listenerNames(proxy)).toEqual([]);
    mesh.apply(
      bound("db", {
        hosts: ["*"],
        tcp: [
          { match: [{ port: 1 }], route: [to("other", 443)] },
          { match: [{ port: 5432 }], route: [to("db", 5432)] },
        ],
      }),
    );
    expect(filterOf(listenerOf(proxy, "0.0.0.0_5432").filterChains[0], tcpProxy).cluster).toBe(
      "outbound|5432||db.shop.svc.cluster.local",
    );
  });

  it("pass TLS through by SNI", () => {
    const tls = [{ match: [{ port: 443, sniHosts: ["x.example.com"] }], route: [to("other", 443)] }];
    const mesh = new TestMesh(
      services +
        gateway([server(443, "TLS", ["*.example.com"], { tls: { mode: "PASSTHROUGH" } })]) +
        bound("x", { hosts: ["x.example.com"], tls }),
    );
    const [chain] = listenerOf(mesh.proxy(router), "0.0.0.0_443").filterChains;
    expect(chain).toMatchObject({ filterChainMatch: { serverNames: ["x.example.com"] } });
    expect(chain.transportSocket).toBeUndefined();
    expect(filterOf(chain, tcpProxy).cluster).toBe("outbound|443||other.shop.svc.cluster.local");
  });

  it("terminate Istio's mutual TLS and exchange metadata", () => {
    const mesh = new TestMesh(
      services +
        gateway([server(5432, "TLS", ["*"], { tls: { mode: "ISTIO_MUTUAL" } })]) +
        bound("db", { hosts: ["*"], tcp: [{ route: [to("db", 5432)] }] }),
    );
    const [chain] = listenerOf(mesh.proxy(router), "0.0.0.0_5432").filterChains;
    expect(secrets(chain)).toMatchObject({
      alpnProtocols: ["istio-peer-exchange", "h2", "http/1.1"],
      tlsCertificateSdsSecretConfigs: [{ name: "default" }],
    });
    expect(filterNames(chain)[0]).toBe("istio.metadata_exchange");
  });

  it("match all services and subsets under AUTO_PASSTHROUGH", () => {
    const subsets = [{ name: "v1", labels: { version: "v1" } }];
    const mesh = new TestMesh(
      services +
        gateway([server(15443, "TLS", ["*.local"], { tls: { mode: "AUTO_PASSTHROUGH" } })]) +
        destinationRule("db.shop.svc.cluster.local", { subsets }),
    );
    const chains: Json[] = listenerOf(mesh.proxy(router), "0.0.0.0_15443").filterChains;
    const names = chains.map((chain) => chain.filterChainMatch.serverNames[0]).sort();
    expect(names).toEqual([
      "outbound_.443_._.other.shop.svc.cluster.local",
      "outbound_.5432_._.db.shop.svc.cluster.local",
      "outbound_.5432_.v1_.db.shop.svc.cluster.local",
    ]);
    expect(chains.every((chain) => chain.filterChainMatch.applicationProtocols.includes("istio"))).toBe(true);
  });
});

describe("the topology in front of the gateway", () => {
  const listenerWith = (gatewayTopology: object): Json =>
    listenerOf(
      new TestMesh(gateway([server(80, "HTTP", ["*"])]), { defaultConfig: { gatewayTopology } } as never).proxy(router),
      "0.0.0.0_80",
    );

  it("may include trusted proxies", () => {
    expect(
      managerOf(httpChain(listenerWith({ numTrustedProxies: 2, forwardClientCertDetails: "FORWARD_ONLY" }))),
    ).toMatchObject({ xffNumTrustedHops: 2, forwardClientCertDetails: "FORWARD_ONLY" });
  });

  it("may use the PROXY protocol", () => {
    expect(listenerWith({ proxyProtocol: {} }).listenerFilters[0].name).toBe("envoy.filters.listener.proxy_protocol");
  });

  it("may be the Internet: the EDGE profile sets limits", () => {
    const mesh = new TestMesh(gateway([server(80, "HTTP", ["*"])]), {
      defaultConfig: { connectionSettings: { profile: "EDGE", httpIdleTimeout: "10s" } },
    });
    const listener = listenerOf(mesh.proxy(router), "0.0.0.0_80");
    expect(listener.perConnectionBufferLimitBytes).toBe(32768);
    expect(managerOf(httpChain(listener))).toMatchObject({
      commonHttpProtocolOptions: { idleTimeout: "10s", headersWithUnderscoresAction: "REJECT_REQUEST" },
      http2ProtocolOptions: {
        maxConcurrentStreams: 100,
        initialStreamWindowSize: 65536,
        initialConnectionWindowSize: 1048576,
      },
      requestTimeout: "300s",
      pathWithEscapedSlashesAction: "UNESCAPE_AND_REDIRECT",
    });
  });
});

describe("a gateway's listener that Envoy would reject because of one server", () => {
  const at443 = (name: string, hosts: readonly string[], more: object = {}): object => ({
    ...server(443, "HTTPS", hosts, more),
    port: { number: 443, name, protocol: "HTTPS" },
  });
  const routesOf = (yaml: string, name: string): unknown[] =>
    listenerOf(new TestMesh(yaml).proxy(router), name).filterChains.map(
      (chain: Json) => managerOf(chain).rds.routeConfigName,
    );

  it.each([
    { hosts: ["shop/a.example.com"], why: "the same host for another namespace" },
    { hosts: ["A.Example.com"], why: "the same host in another case" },
  ])("has no chain for a server whose SNI an earlier one has: $why", ({ hosts }) => {
    const yaml =
      gateway([at443("https-a", ["*/a.example.com"], simple)]) + gateway([at443("https-b", hosts, simple)], "second");
    expect(routesOf(yaml, "0.0.0.0_443")).toEqual(["https.443.https-a.gateway.istio-system"]);
  });

  it("keeps the other hosts of a server that has one of an earlier one", () => {
    const yaml =
      gateway([at443("https-a", ["*/a.example.com"], simple)]) +
      gateway([at443("https-b", ["*.example.com", "shop/A.example.com"], simple)], "second");
    const chains: readonly Json[] = listenerOf(new TestMesh(yaml).proxy(router), "0.0.0.0_443").filterChains;
    expect(chains.map(({ filterChainMatch }) => filterChainMatch.serverNames)).toEqual([
      ["a.example.com"],
      ["*.example.com"],
    ]);
  });

  it("has one plaintext chain for the unspecified address and no address", () => {
    const yaml =
      gateway([server(80, "HTTP", ["a.example.com"])]) +
      gateway([server(80, "HTTP", ["b.example.com"], { bind: "0.0.0.0" })], "second");
    expect(routesOf(yaml, "0.0.0.0_80")).toEqual(["http.80"]);
  });

  it("does not exist for an address that another one has in another form", () => {
    const yaml =
      gateway([server(80, "HTTP", ["a.example.com"], { bind: "2001:db8::1" })]) +
      gateway([server(80, "HTTP", ["b.example.com"], { bind: "2001:db8:0:0:0:0:0:1" })], "second");
    expect(listenerNames(new TestMesh(yaml).proxy(router))).toEqual(["2001:db8::1_80"]);
  });

  it("requests a secret that is never served for a credential without a name", () => {
    const tls = { mode: "SIMPLE", credentialNames: ["sds://"] };
    const yaml = gateway([at443("https-a", ["a.example.com"], { tls }), at443("https-b", ["b.example.com"], simple)]);
    const mesh = new TestMesh(yaml);
    const listener = listenerOf(mesh.proxy({ ...router }), "0.0.0.0_443");
    expect(listener.filterChains.map((chain: Json) => secrets(chain).tlsCertificateSdsSecretConfigs[0].name)).toEqual([
      "invalid://",
      "kubernetes://cert",
    ]);
  });
});
