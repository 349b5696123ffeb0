import { equals } from "@bufbuild/protobuf";
import { MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { applyMeshConfig, defaultMeshConfig, formatPath, readMeshNetworks, type Report } from "@istiod/config-schema";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

function reports(): Report & { readonly errors: string[]; readonly warnings: string[] } {
  const errors: string[] = [];
  const warnings: string[] = [];
  return {
    errors,
    warnings,
    error: (path, message) => void errors.push(`${formatPath(path)}: ${message}`),
    warning: (path, message) => void warnings.push(`${formatPath(path)}: ${message}`),
  };
}

function apply(yaml: string) {
  const report = reports();
  const mesh = applyMeshConfig(parse(yaml), report);
  expect(report.errors).toEqual([]);
  if (mesh === undefined) throw new Error("no mesh configuration");
  return { mesh, report };
}

describe("mesh configuration", () => {
  test("an empty file means the defaults", () => {
    const { mesh } = apply("");
    expect(equals(MeshConfigSchema, mesh, defaultMeshConfig())).toBe(true);
    expect(mesh.connectTimeout?.seconds).toBe(10n);
    expect(mesh.defaultConfig?.discoveryAddress).toBe("istiod.istio-system.svc:15012");
  });

  test("a field takes the place of its default, also with a zero", () => {
    const { mesh } = apply(
      "{enableTracing: false, enableAutoMtls: false, connectTimeout: 1m30s, outboundTrafficPolicy: {mode: REGISTRY_ONLY}}",
    );
    expect(mesh.enableTracing).toBe(false);
    expect(mesh.enableAutoMtls).toBe(false);
    expect(mesh.connectTimeout?.seconds).toBe(90n);
    expect(mesh.rootNamespace).toBe("istio-system");
  });

  test("the proxy configuration is merged field by field, its metadata entry by entry", () => {
    const base = apply(
      "defaultConfig: {concurrency: 2, proxyMetadata: {A: '1', B: '1'}, proxyHeaders: {server: {disabled: true}}}",
    ).mesh;
    const report = reports();
    const mesh = applyMeshConfig(
      parse("defaultConfig: {statusPort: 15021, proxyMetadata: {B: '2'}, proxyHeaders: {requestId: {disabled: true}}}"),
      report,
      base,
    );
    expect(report.errors).toEqual([]);
    expect(mesh?.defaultConfig).toMatchObject({
      concurrency: 2,
      statusPort: 15021,
      proxyMetadata: { A: "1", B: "2" },
      proxyAdminPort: 15000,
    });
    expect(mesh?.defaultConfig?.proxyHeaders?.server?.disabled).toBe(true);
    expect(mesh?.defaultConfig?.proxyHeaders?.requestId?.disabled).toBe(true);
    expect(base.defaultConfig?.statusPort).toBe(15020);
  });

  test("providers are merged by name, trust domain aliases united", () => {
    const { mesh } = apply(`
trustDomainAliases: [b.example, a.example, b.example]
extensionProviders:
- {name: envoy, envoyFileAccessLog: {path: /tmp/log}}
- {name: authz, envoyExtAuthzGrpc: {service: authz.default.svc.cluster.local, port: 9000}}
defaultProviders: {metrics: [prometheus]}`);
    expect(mesh.trustDomainAliases).toEqual(["a.example", "b.example"]);
    expect(mesh.extensionProviders.map((p) => p.name)).toEqual(["prometheus", "stackdriver", "envoy", "authz"]);
    expect(mesh.extensionProviders[2]?.provider.value).toMatchObject({ path: "/tmp/log" });
    expect(mesh.defaultProviders?.metrics).toEqual(["prometheus"]);
  });

  test("unknown fields are warnings", () => {
    const { report } = apply("{notAField: 1, trustdomain: x, defaultConfig: {alsoNot: {a: 1}}}");
    expect(report.warnings).toEqual([
      "notAField: is not a field of MeshConfig; it is ignored",
      "trustdomain: is not a field of MeshConfig; did you mean trustDomain? It is ignored",
      "defaultConfig.alsoNot: is not a field of ProxyConfig; it is ignored",
    ]);
  });

  test.each([
    ["proxyListenPort: 0", "proxyListenPort: is 0 or missing, expected a port from 1 to 65535"],
    ["connectTimeout: 2h", "connectTimeout: is 7200s, expected at most 1h"],
    ["connectTimeout: soon", 'connectTimeout: is "soon", expected a duration such as 1.5s'],
    ["trustDomain: 'a b'", 'trustDomain: is "a b", expected a domain name'],
    ["defaultConfig: {drainDuration: 1500ms}", "defaultConfig.drainDuration: is 1.5s, expected whole seconds"],
    ["defaultConfig: {discoveryAddress: nowhere}", 'defaultConfig.discoveryAddress: is "nowhere", expected host:port'],
    [
      "outboundTrafficPolicy: {mode: SOMETIMES}",
      'outboundTrafficPolicy.mode: is "SOMETIMES", expected one of REGISTRY_ONLY, ALLOW_ANY, ALLOW_ANY_DYNAMIC_DNS',
    ],
    [
      "discoverySelectors: [{matchLabels: {a: b}}, {matchExpressions: [{key: mesh, operator: Within, values: [x]}]}]",
      'discoverySelectors[1].matchExpressions[0].operator: is "Within", expected one of In, NotIn, Exists, DoesNotExist',
    ],
    [
      "discoverySelectors: [{matchExpressions: [{key: mesh, operator: In}]}]",
      "discoverySelectors[0].matchExpressions[0].values: is empty, expected values for operator In",
    ],
    [
      "discoverySelectors: [{matchExpressions: [{key: mesh, operator: Exists, values: [x]}]}]",
      "discoverySelectors[0].matchExpressions[0].values: is set, expected none for operator Exists",
    ],
    ["[]", "is not a mapping, expected fields of the mesh configuration"],
  ])("%s is rejected", (yaml, expected) => {
    const report = reports();
    expect(applyMeshConfig(parse(yaml), report)).toBeUndefined();
    expect(report.errors).toEqual([expected.startsWith("is ") ? `: ${expected}` : expected]);
  });
});

describe("mesh networks", () => {
  test("are read", () => {
    const report = reports();
    const networks = readMeshNetworks(
      parse("networks: {n1: {endpoints: [{fromRegistry: cluster1}], gateways: [{address: 1.2.3.4, port: 15443}]}}"),
      report,
    );
    expect(report.errors).toEqual([]);
    expect(networks?.networks["n1"]?.gateways[0]).toMatchObject({
      gw: { case: "address", value: "1.2.3.4" },
      port: 15443,
    });
  });

  test("a bad gateway is rejected", () => {
    const report = reports();
    expect(readMeshNetworks(parse("networks: {n1: {gateways: [{address: 'a b', port: 0}]}}"), report)).toBeUndefined();
    expect(report.errors).toEqual([
      'networks.n1.gateways[0].address: is "a b", expected an IP address or a domain name',
      "networks.n1.gateways[0].port: is 0 or missing, expected a port from 1 to 65535",
    ]);
  });
});

describe("formats of the mesh configuration", () => {
  const faults = (mesh: object): string[] => {
    const report = reports();
    const accepted = applyMeshConfig(mesh, report) !== undefined;
    expect(accepted).toBe(report.errors.length === 0);
    return report.errors;
  };
  const provider = (fields: object): string[] =>
    faults({ extensionProviders: [{ name: "a", ...fields }] }).map((error) =>
      error.replace(/^extensionProviders\[\d+\]\./, ""),
    );
  const service = { service: "a.b", port: 80 };
  const unknown = (name: string): string => `has "%${name}%", but proxies have no variable ${name}`;

  test("of access logs reject it", () => {
    expect(faults({ accessLogFormat: "%REQ(a)% %BAD%" })).toEqual([`accessLogFormat: ${unknown("BAD")}`]);
    expect(faults({ accessLogFormat: '{"a": {"b": ["%BAD%"]}}', accessLogEncoding: "JSON" })).toEqual([
      `accessLogFormat.a.b[0]: ${unknown("BAD")}`,
    ]);
    expect(faults({ accessLogFormat: "%REQ_WITHOUT_QUERY(X-ENVOY-ORIGINAL-PATH?:PATH)% 100%%" })).toEqual([]);
    expect(faults({ accessLogFormat: '"%BAD%"', accessLogEncoding: "JSON" })).toEqual([]);
    expect(faults({ accessLogFormat: "not JSON %", accessLogEncoding: "JSON" })).toEqual([]);
  });

  test("of providers reject it", () => {
    const file = (logFormat: object): string[] => provider({ envoyFileAccessLog: { path: "/dev/stdout", logFormat } });
    expect(file({ text: "%BAD%" })).toEqual([`envoyFileAccessLog.logFormat.text: ${unknown("BAD")}`]);
    expect(file({ labels: { a: { b: "%BAD%" } } })).toEqual([
      `envoyFileAccessLog.logFormat.labels.a.b: ${unknown("BAD")}`,
    ]);
    expect(file({ labels: { a: { b: "%REQ_WITHOUT_QUERY(a)%" }, n: 1, t: true } })).toEqual([]);
    expect(provider({ envoyOtelAls: { ...service, logFormat: { text: "%BAD%", labels: { a: "%WORSE%" } } } })).toEqual([
      `envoyOtelAls.logFormat.text: ${unknown("BAD")}`,
      `envoyOtelAls.logFormat.labels.a: ${unknown("WORSE")}`,
    ]);
  });

  test("of headers for collectors and authorizers reject it", () => {
    const header = (value: string): object => ({ name: "x-a", value });
    expect(provider({ zipkin: { ...service, headers: [header("100%")] } })[0]).toMatch(
      /^zipkin.headers\[0\]: has "%", /,
    );
    expect(provider({ opentelemetry: { ...service, http: { path: "/", headers: [header("%BAD%")] } } })).toEqual([
      `opentelemetry.http.headers[0]: ${unknown("BAD")}`,
    ]);
    expect(
      provider({
        opentelemetry: { ...service, grpc: { initialMetadata: [header("%BAD%"), { name: "x y", value: "a" }] } },
      }),
    ).toEqual([
      `opentelemetry.grpc.initialMetadata[0]: ${unknown("BAD")}`,
      'opentelemetry.grpc.initialMetadata[1]: has the name "x y", expected letters, digits, _, . and -',
    ]);
    const authorizer = { ...service, includeAdditionalHeadersInCheck: { "x-a": "%BAD%", host: "a" } };
    expect(provider({ envoyExtAuthzHttp: authorizer })).toEqual([
      `envoyExtAuthzHttp.includeAdditionalHeadersInCheck["x-a"]: ${unknown("BAD")}`,
      "envoyExtAuthzHttp.includeAdditionalHeadersInCheck.host: is host, expected a header that may be added",
    ]);
    expect(provider({ envoyExtAuthzGrpc: { ...service, includeRequestBodyInCheck: {} } })).toEqual([
      "envoyExtAuthzGrpc.includeRequestBodyInCheck.maxRequestBytes: is 0 or missing, expected at least 1",
    ]);
    const report = reports();
    const opentelemetry = { ...service, http: { path: "/a%zz" } };
    expect(applyMeshConfig({ extensionProviders: [{ name: "a", opentelemetry }] }, report)).toBeDefined();
    expect(report.warnings.filter((warning) => warning.includes("http.path"))).toEqual([
      expect.stringMatching(/http\.path: has "%zz", expected %25 for a percent sign, so that nothing is traced/),
    ]);
    expect(provider({ zipkin: { ...service, timeout: "5000000000s" } })).toEqual([
      "zipkin.timeout: is 5000000000s, expected 0s to less than 4294967296s",
    ]);
    for (const [timeout, warnings] of [
      ["0.0009s", [expect.stringContaining("is 0.0009s, which proxies take as 0s, so without a limit")]],
      ["0s", []],
      ["0.001s", []],
    ] as const) {
      const provided = reports();
      applyMeshConfig({ extensionProviders: [{ name: "a", envoyExtAuthzHttp: { ...service, timeout } }] }, provided);
      expect(provided.warnings.filter((warning) => warning.includes("timeout"))).toEqual(warnings);
    }
  });
});
