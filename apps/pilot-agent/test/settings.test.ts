import { mkdir } from "node:fs/promises";
import type { NetworkInterfaceInfo } from "node:os";
import { join } from "node:path";
import { create, toJson } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { AuthenticationPolicy, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { networkSettings } from "../src/bootstrap/network-settings.js";
import { caEndpoint, discoveryTls } from "../src/control-plane.js";
import { envoyArguments, splitLogLevel } from "../src/envoy/arguments.js";
import { readBootstrapOverride } from "../src/envoy/bootstrap-override.js";
import { ipFamilies, workloadAddresses } from "../src/node/addresses.js";
import { parseDownwardApi, readDownwardApi } from "../src/node/downward-api.js";
import { localityLabel, parseLocality } from "../src/node/locality.js";
import { buildNodeMetadata } from "../src/node/metadata.js";
import { serviceCluster } from "../src/node/service-cluster.js";
import { readOptions } from "../src/options/read-options.js";
import { defaultProxyConfig } from "../src/proxy-config/defaults.js";
import { loadProxyConfig, splitAddress } from "../src/proxy-config/load.js";
import { overlay, overlayMesh } from "../src/proxy-config/overlay.js";
import { parseProxyType, readProxy } from "../src/proxy.js";
import { scrapeTargets } from "../src/status/scrape.js";
import { put, scratch } from "./fakes.js";

describe("settings", () => {
  it("come from flags, then the environment, then defaults", () => {
    const options = readOptions(
      { domain: "a.b" },
      {
        POD_NAME: "cart-1",
        SECRET_TTL: "1h30m",
        EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "T",
        SECRET_GRACE_PERIOD_RATIO: "0.25",
        ENVOY_STATUS_PORT: "",
      },
    );
    expect(options).toMatchObject({
      domain: "a.b",
      podName: "cart-1",
      secretTtl: 5400_000,
      exitOnZeroConnections: true,
      graceRatio: 0.25,
      statusPort: 15021,
      proxyLogLevel: "warning",
    });
    expect(readOptions({ directory: "/x" }, { AGENT_DIRECTORY: "/y" }).directory).toBe("/x");
  });

  it.each<[Record<string, string>, string]>([
    [{ SECRET_TTL: "soon" }, 'invalid value "soon" for SECRET_TTL: expected a duration such as 100ms, 10s or 1h30m'],
    [
      { ENVOY_STATUS_PORT: "1e3" },
      'invalid value "1e3" for ENVOY_STATUS_PORT: expected an integer between 0 and 65535',
    ],
    [{ FILE_MOUNTED_CERTS: "yes" }, 'invalid value "yes" for FILE_MOUNTED_CERTS: expected true or false'],
    [{ SECRET_GRACE_PERIOD_RATIO: "half" }, 'invalid value "half" for SECRET_GRACE_PERIOD_RATIO: expected a number'],
    [{ PROV_CERT: "/a", FILE_MOUNTED_CERTS: "true" }, "PROV_CERT and FILE_MOUNTED_CERTS exclude each other"],
    [
      { WORKLOAD_IDENTITY_SOCKET_FILE: "../x" },
      'invalid value "../x" for WORKLOAD_IDENTITY_SOCKET_FILE: expected a file name',
    ],
    [{ CA_PROVIDER: "GoogleCA" }, 'invalid value "GoogleCA" for CA_PROVIDER: expected Citadel'],
    [{ ECC_CURVE: "P521" }, 'invalid value "P521" for ECC_CURVE: expected one of P256, P384'],
    [
      { WORKLOAD_RSA_KEY_SIZE: "1024" },
      'invalid value "1024" for WORKLOAD_RSA_KEY_SIZE: expected an integer of at least 2048',
    ],
  ])("%j are rejected", (env, words) => {
    expect(() => readOptions({}, env)).toThrow(words);
  });

  it("include two types of proxy", () => {
    expect([parseProxyType("sidecar"), parseProxyType("router")]).toEqual(["sidecar", "router"]);
    expect(() => parseProxyType("waypoint")).toThrow("must be sidecar or router");
  });
});

describe("the proxy configuration", () => {
  it("is warned of with each unknown field, with its source and a suggestion", async () => {
    const directory = await scratch();
    await put(join(directory, "mesh"), "defaultConfig: { concurency: 2 }\n");
    const options = readOptions({}, { PROXY_CONFIG: "drainDurations: 20s\ntracing: { zipkin: { adress: z } }\n" });
    const warnings: string[] = [];
    const annotations = { "proxy.istio.io/config": "status_prt: 3" };
    await loadProxyConfig(options, join(directory, "mesh"), annotations, (message) => void warnings.push(message));
    expect(warnings).toEqual([
      expect.stringMatching(/mesh: defaultConfig: concurency .*concurrency/),
      expect.stringMatching(/^PROXY_CONFIG: drainDurations .*drainDuration/),
      expect.stringMatching(/^PROXY_CONFIG: tracing\.zipkin\.adress .*address/),
      expect.stringMatching(/^annotation proxy\.istio\.io\/config: status_prt /),
    ]);
  });

  it("is overridden by mesh configuration, environment and annotation", async () => {
    const directory = await scratch();
    await put(
      join(directory, "mesh"),
      "enableTracing: true\ndefaultConfig:\n  discoveryAddress: mesh:15012\n  drainDuration: 10s\n  proxyMetadata: { A: mesh, B: mesh }\n",
    );
    const options = readOptions({}, { PROXY_CONFIG: "drainDuration: 20s\nproxyMetadata:\n  B: env\nstatusPort: 0\n" });
    const config = await loadProxyConfig(options, join(directory, "mesh"), {
      "proxy.istio.io/config": "concurrency: 3",
      "status.sidecar.istio.io/port": "15099",
    });
    expect(config).toMatchObject({
      discoveryAddress: "mesh:15012",
      statusPort: 15099,
      concurrency: 3,
      proxyMetadata: { A: "mesh", B: "env" },
    });
    expect(durationMs(config.drainDuration!)).toBe(20_000);
    expect(durationMs(config.terminationDrainDuration!)).toBe(5_000);
    expect((await loadProxyConfig(options, "/none", {})).statusPort).toBe(0);
  });

  it("keeps fields that an overlay does not set, and is overridden by zero values", () => {
    const config = overlay(
      defaultProxyConfig(),
      "controlPlaneAuthPolicy: NONE\nproxyAdminPort: 0\ntracingServiceName: CANONICAL_NAME_ONLY\n",
      "x",
    );
    expect(config).toMatchObject({
      controlPlaneAuthPolicy: AuthenticationPolicy.NONE,
      proxyAdminPort: 0,
      statusPort: 15020,
      clusterName: { case: "tracingServiceName" },
    });
    expect(overlayMesh(defaultProxyConfig(), "trustDomain: x", "m")).toMatchObject({ statusPort: 15020 });
    expect(overlay(defaultProxyConfig(), "", "x")).toEqual(defaultProxyConfig());
    const warnings: string[] = [];
    overlay(defaultProxyConfig(), "{customConfigFile: /a, proxy_bootstrap_template_path: /b}", "x", (message) =>
      warnings.push(message),
    );
    const reason = "is ignored: Envoy starts with the generated bootstrap; use ISTIO_BOOTSTRAP_OVERRIDE";
    expect(warnings).toEqual([`x: customConfigFile ${reason}`, `x: proxyBootstrapTemplatePath ${reason}`]);
    const headers = overlay(
      overlay(defaultProxyConfig(), "proxyHeaders: { server: { disabled: true }, requestId: { disabled: true } }", "x"),
      "proxyHeaders: { server: { value: a } }",
      "x",
    );
    expect(toJson(ProxyConfigSchema, headers)).toMatchObject({
      proxyHeaders: { server: { value: "a" }, requestId: { disabled: true } },
    });
  });

  it.each([
    ["a: [", /PROXY_CONFIG: invalid YAML/],
    ["- 1", /PROXY_CONFIG: must be a map/],
    ["statusPort: many", /PROXY_CONFIG: invalid proxy configuration: .*status/i],
    ["drainDuration: 1.5sx", /PROXY_CONFIG: invalid proxy configuration: drainDuration is "1.5sx"/],
    ["terminationDrainDuration: 5s 5s", /: terminationDrainDuration is "5s 5s", expected a duration/],
    ["tracing: {sampling: 1.5x}", /: tracing.sampling is "1.5x"/],
    ["privateKeyProvider: {cryptomb: {pollDelay: 10msx}}", /: privateKeyProvider.cryptomb.pollDelay is "10msx"/],
    ["{drainDuration: 1, statusPort: 1.5}", /: drainDuration .*, statusPort is 1.5/],
    ["discoveryAddress: istiod", /discoveryAddress: "istiod" must be host:port/],
    ["statusPort: 70000", /statusPort: 70000 must be a port/],
  ])("rejects %j with one sentence", async (yaml, words) => {
    await expect(loadProxyConfig(readOptions({}, { PROXY_CONFIG: yaml }), "/none", {})).rejects.toThrow(words);
  });

  it("is read as Istio's own agent reads it, from each source", async () => {
    const directory = await scratch();
    const mesh = join(directory, "mesh");
    await put(mesh, "defaultConfig: {drainDuration: 1m30s, status_port: ' 15099', ofANewerVersion: 1}\n");
    const options = readOptions({}, { PROXY_CONFIG: "termination_drain_duration: 1500ms\n" });
    const config = await loadProxyConfig(options, mesh, { "proxy.istio.io/config": "concurrency: '3'" });
    expect(config).toMatchObject({ statusPort: 15099, concurrency: 3 });
    expect(durationMs(config.drainDuration!)).toBe(90_000);
    expect(durationMs(config.terminationDrainDuration!)).toBe(1500);
    const annotations = { "proxy.istio.io/config": "drainDuration: 1.5sx" };
    await expect(loadProxyConfig(options, mesh, annotations)).rejects.toThrow(
      /annotation proxy.istio.io\/config: invalid proxy configuration: drainDuration/,
    );
    await put(mesh, "defaultConfig: {drainDuration: 1.5sx}\n");
    await expect(loadProxyConfig(options, mesh, {})).rejects.toThrow(/mesh: defaultConfig: invalid proxy/);
  });

  it("accepts addresses of two forms", () => {
    expect(splitAddress("a.b:1")).toEqual({ host: "a.b", port: 1 });
    expect(splitAddress("[::1]:2")).toEqual({ host: "::1", port: 2 });
    for (const text of ["a", "a:", "::1:2", "a:70000", "a:b"]) expect(splitAddress(text)).toBeUndefined();
  });
});

describe("the node", () => {
  it("has its own address before the machine's, and no other if it is a loopback address", () => {
    const interfaces = {
      lo: [
        { address: "127.0.0.1", internal: true },
        { address: "::1", internal: true },
      ],
      eth0: [
        { address: "10.0.0.5", internal: false },
        { address: "fe80::1", internal: false },
        { address: "10.0.0.6", internal: false },
      ],
    } as unknown as NodeJS.Dict<NetworkInterfaceInfo[]>;
    expect(workloadAddresses("10.0.0.6", interfaces)).toEqual(["10.0.0.6", "10.0.0.5"]);
    expect(workloadAddresses("127.0.1.7", interfaces)).toEqual(["127.0.1.7"]);
    expect(workloadAddresses("", interfaces)).toEqual(["10.0.0.5", "10.0.0.6"]);
    expect(
      workloadAddresses("10.0.0.5", { eth0: [{ address: "10.0.0.5", internal: false }] as NetworkInterfaceInfo[] }),
    ).toEqual(["10.0.0.5"]);
    expect(workloadAddresses("10.0.0.5", {})).toEqual(["10.0.0.5"]);
    expect(workloadAddresses("", {})).toEqual(["127.0.0.1", "::1"]);
    expect([ipFamilies(["1.2.3.4"]), ipFamilies(["::1"]), ipFamilies(["::1", "1.2.3.4"])]).toEqual([
      "v4",
      "v6",
      "both",
    ]);
  });

  it("listens on the IP families of its addresses", () => {
    expect(networkSettings(["::1"], false, "")).toEqual({
      localhost: "::1",
      wildcard: "::",
      dnsLookupFamily: "V6_ONLY",
    });
    expect(networkSettings(["1.2.3.4", "fd00::1"], false, "")).toMatchObject({
      wildcard: "0.0.0.0",
      dnsLookupFamily: "V4_ONLY",
    });
    expect(networkSettings(["fd00::1", "1.2.3.4"], true, "")).toEqual({
      localhost: "::1",
      wildcard: "::",
      additionalLocalhost: "127.0.0.1",
      additionalWildcard: "0.0.0.0",
      dnsLookupFamily: "ALL",
    });
    expect(networkSettings(["127.0.1.7"], false, "127.0.1.7")).toMatchObject({
      localhost: "127.0.1.7",
      wildcard: "127.0.1.7",
    });
  });

  it("reads labels in the downward API's format", async () => {
    expect(parseDownwardApi('app="cart"\nnote="a \\"b\\" \\\\ \\u00e9\\n\\x41\\101"\n\n', "f")).toEqual({
      app: "cart",
      note: 'a "b" \\ é\nAA',
    });
    expect(() => parseDownwardApi('a="x"\napp=cart', "labels")).toThrow(
      "labels:2: the value of app must be a quoted string",
    );
    expect(await readDownwardApi("/none")).toBeUndefined();
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        (value) => parseDownwardApi(`k=${JSON.stringify(value)}`, "f")["k"] === value,
      ),
    );
  });

  it("has a locality from its labels", () => {
    expect(parseLocality(localityLabel({ "istio-locality": "a.b.c" }))).toEqual({
      region: "a",
      zone: "b",
      subZone: "c",
    });
    expect(parseLocality(localityLabel({ "istio-locality": "a.b", "topology.istio.io/locality": "x/y.z" }))).toEqual({
      region: "x",
      zone: "y.z",
    });
    expect(parseLocality(localityLabel({}))).toEqual({});
  });

  it("has metadata of the environment, overridden by the pod's labels without the template hash", () => {
    const { metadata, labels } = buildNodeMetadata({
      env: {
        ISTIO_META_MESH_ID: "m",
        ISTIO_META_DNS_CAPTURE: "1",
        ISTIO_META_ENABLE_HBONE: "false",
        ISTIO_METAJSON_LABELS: '{"app":"a","team":"t"}',
        ISTIO_METAJSON_BAD: "[]",
        POD_NAME: "p",
      },
      proxyConfig: create(ProxyConfigSchema, {
        proxyMetadata: { ISTIO_META_MESH_ID: "config", ISTIO_META_X: "y", OTHER: "z" },
      }),
      addresses: ["1.1.1.1", "1.1.1.1"],
      podLabels: { app: "b", "pod-template-hash": "123" },
      version: "1.2.3",
      statusPort: 1,
      prometheusPort: 0,
      exitOnZeroConnections: true,
    });
    expect(labels).toEqual({ app: "b", team: "t" });
    expect(metadata).toMatchObject({
      MESH_ID: "m",
      X: "y",
      DNS_CAPTURE: "true",
      ENABLE_HBONE: "false",
      STATIC_LABELS: { app: "a", team: "t" },
      INSTANCE_IPS: "1.1.1.1",
      NAME: "p",
      EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "true",
      METADATA_DISCOVERY: "false",
    });
    for (const absent of ["OTHER", "ENVOY_PROMETHEUS_PORT", "NAMESPACE"]) expect(metadata).not.toHaveProperty(absent);
  });

  it.each<[string, string, Record<string, string>, string, string]>([
    ["{}", "", {}, "", "istio-proxy"],
    ["{}", "shop", {}, "", "istio-proxy.shop"],
    ["{}", "shop", {}, "cart-v1", "cart-v1.shop"],
    ["{}", "shop", { app: "cart" }, "cart-v1", "cart.shop"],
    ["serviceCluster: mine", "shop", { app: "cart" }, "", "mine"],
    ["tracingServiceName: CANONICAL_NAME_ONLY", "shop", { app: "a", "service.istio.io/canonical-name": "c" }, "", "c"],
    ["tracingServiceName: CANONICAL_NAME_AND_NAMESPACE", "shop", {}, "cart-v1", "cart-v1.shop"],
    ["tracingServiceName: APP_LABEL_AND_NAMESPACE", "shop", { app: "cart" }, "", "cart.shop"],
  ])("has a service cluster (%s, %s, %j)", (yaml, namespace, labels, workloadName, expected) => {
    expect(serviceCluster(overlay(defaultProxyConfig(), yaml, "x"), { labels, namespace, workloadName })).toBe(
      expected,
    );
  });

  it("has an ID of its type, address, name and domain", async () => {
    const directory = await scratch();
    const options = readOptions(
      {},
      { AGENT_DIRECTORY: directory, INSTANCE_IP: "127.0.1.7", POD_NAME: "cart-1", POD_NAMESPACE: "shop" },
    );
    expect((await readProxy("router", options)).nodeId).toBe("router~127.0.1.7~cart-1.shop~shop.svc.cluster.local");
    expect((await readProxy("sidecar", { ...options, domain: "x.example" })).nodeId).toBe(
      "sidecar~127.0.1.7~cart-1.shop~x.example",
    );
  });
});

describe("Envoy's command line", () => {
  it("equals that of Istio's agent", () => {
    const config = overlay(defaultProxyConfig(), "concurrency: 2\nfileFlushInterval: 0.5s\nfileFlushMinSizeKb: 8", "x");
    const options = readOptions({ proxyLogLevel: "info,misc:error,upstream:debug" }, {});
    expect(envoyArguments("/b.json", config, options, ["10.0.0.1"], '{"a":1}')).toEqual([
      "-c",
      "/b.json",
      "--drain-time-s",
      "45",
      "--drain-strategy",
      "immediate",
      "--local-address-ip-version",
      "v4",
      "--file-flush-interval-msec",
      "500",
      "--disable-hot-restart",
      "--allow-unknown-static-fields",
      "--file-flush-min-size-kb",
      "8",
      "-l",
      "info",
      "--component-log-level",
      "misc:error,upstream:debug",
      "--skip-deprecated-logs",
      "--config-yaml",
      '{"a":1}',
      "--concurrency",
      "2",
    ]);
    expect(splitLogLevel("warning")).toEqual({ level: "warning", components: "" });
  });

  it("has no values with which Envoy would exit", () => {
    const config = overlay(defaultProxyConfig(), "fileFlushInterval: 0.0015s\ndrainDuration: 5000000000s", "x");
    const options = readOptions({ proxyLogLevel: "verbose,info,misc:loud,upstream:debug,network:debug" }, {});
    const warnings: string[] = [];
    const args = envoyArguments("/b.json", config, options, ["10.0.0.1"], undefined, (text) => warnings.push(text));
    const valueOf = (flag: string): string | undefined => args[args.indexOf(flag) + 1];
    expect(["-l", "--component-log-level", "--file-flush-interval-msec", "--drain-time-s"].map(valueOf)).toEqual([
      "info",
      "upstream:debug",
      "2",
      "4294967295",
    ]);
    expect(warnings).toHaveLength(3);
  });

  it("has an override in YAML or JSON", async () => {
    const directory = await scratch();
    await put(join(directory, "o.yaml"), 'admin:\n  address: "$(HOST_IP):1"\n');
    expect(await readBootstrapOverride(join(directory, "o.yaml"), "fd00::1")).toBe(
      '{"admin":{"address":"[fd00::1]:1"}}',
    );
    await expect(readBootstrapOverride(join(directory, "none"), "")).rejects.toThrow("cannot be read");
  });
});

describe("control plane TLS", () => {
  it("uses the mounted or configured root certificate", async () => {
    const directory = await scratch();
    const at = (env: Record<string, string> = {}) => readOptions({}, { AGENT_DIRECTORY: directory, ...env });
    const config = defaultProxyConfig();
    expect(() => discoveryTls(at(), config)).toThrow(
      `root certificate for istiod not found: ${directory}/var/run/secrets/istio/root-cert.pem`,
    );
    await put(join(directory, "var/run/secrets/istio/root-cert.pem"), "x");
    expect(discoveryTls(at({ ISTIOD_SAN: "istiod" }), config)).toEqual({
      rootFile: join(directory, "var/run/secrets/istio/root-cert.pem"),
      serverName: "istiod",
    });
    await put(join(directory, "etc/certs/root-cert.pem"), "x");
    expect(discoveryTls(at(), config)).toEqual({ rootFile: join(directory, "etc/certs/root-cert.pem") });
    expect(discoveryTls(at({ XDS_ROOT_CA: "SYSTEM" }), config)).toEqual({ rootFile: "SYSTEM" });
    expect(discoveryTls(at(), overlay(config, "controlPlaneAuthPolicy: NONE", "x"))).toBeUndefined();
    await mkdir(join(directory, "x"));
  });

  it("uses the authority's address, and plaintext only on port 15010 or if configured", async () => {
    const directory = await scratch();
    await put(join(directory, "var/run/secrets/istio/root-cert.pem"), "x");
    const at = (env: Record<string, string> = {}) => readOptions({}, { AGENT_DIRECTORY: directory, ...env });
    const tls = { rootFile: join(directory, "var/run/secrets/istio/root-cert.pem") };
    expect(caEndpoint(at(), defaultProxyConfig())).toEqual({ address: "istiod.istio-system.svc:15012", tls });
    expect(caEndpoint(at({ CA_ADDR: "ca:1" }), defaultProxyConfig())).toEqual({ address: "ca:1", tls });
    expect(caEndpoint(at({ ISTIOD_SAN: "istiod" }), defaultProxyConfig())).toEqual({
      address: "istiod.istio-system.svc:15012",
      tls: { ...tls, serverName: "istiod" },
    });
    expect(caEndpoint(at({ CA_ADDR: "ca:1", ISTIOD_SAN: "istiod" }), defaultProxyConfig())).toEqual({
      address: "ca:1",
      tls,
    });
    expect(caEndpoint(at({ CA_ADDR: "ca:15010" }), defaultProxyConfig())).toEqual({ address: "ca:15010" });
    expect(caEndpoint(at({ CA_ADDR: "ca:1", CA_PLAINTEXT: "true" }), defaultProxyConfig())).toEqual({
      address: "ca:1",
    });
  });
});

describe("scrape targets", () => {
  it("come from annotations, without ports of the mesh", () => {
    expect(scrapeTargets("", 15020)).toEqual([]);
    expect(scrapeTargets('{"scrape":"false"}', 15020)).toEqual([]);
    expect(scrapeTargets('{"scrape":"true"}', 15020)).toEqual([{ port: 80, path: "/metrics" }]);
    expect(scrapeTargets('{"scrape":"true","port":"8080","path":"m"}', 15020)).toEqual([{ port: 8080, path: "/m" }]);
    expect(scrapeTargets('{"targets":[{"port":"1"},{"port":"2","path":"/x"}]}', 15020)).toEqual([
      { port: 1, path: "/metrics" },
      { port: 2, path: "/x" },
    ]);
    for (const text of ["{", '{"port":"015020"}', '{"port":"15090"}', '{"port":"x"}', '{"port":"8888"}'])
      expect(() => scrapeTargets(text, 8888)).toThrow("ISTIO_PROMETHEUS_ANNOTATIONS");
  });
});
