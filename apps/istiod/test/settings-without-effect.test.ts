import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkVariables, flags, readVariables, startupWarnings } from "@istiod/istiod";
import { features } from "@istiod/push-context";
import { discoveryVariables } from "@istiod/settings";
import { afterEach, describe, expect, it, vi } from "vitest";
import { run } from "../src/main.js";
import { tlsLimits } from "../src/tls-limits.js";
import { folder, serve } from "./serving.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The texts of a folder's TypeScript files. */
function sourcesBelow(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
}

const sources = [
  ...readdirSync(join(root, "packages"))
    .map((name) => join(root, "packages", name, "src"))
    .filter((directory) => existsSync(directory) && !directory.includes("redirection")),
  join(root, "apps/istiod/src"),
].flatMap(sourcesBelow);

/** Flags of `pilot-discovery discovery`. */
const istioFlags = [
  "caCertFile",
  "clusterAliases",
  "clusterID",
  "clusterRegistriesNamespace",
  "cniNamespace",
  "configDir",
  "ctrlz_address",
  "ctrlz_port",
  "domain",
  "grpcAddr",
  "httpAddr",
  "httpsAddr",
  "keepaliveInterval",
  "keepaliveMaxServerConnectionAge",
  "keepaliveTimeout",
  "kubeconfig",
  "kubernetesApiBurst",
  "kubernetesApiQPS",
  "log_as_json",
  "log_caller",
  "log_output_level",
  "log_stacktrace_level",
  "log_target",
  "meshConfig",
  "monitoringAddr",
  "namespace",
  "networksConfig",
  "profile",
  "registries",
  "secureGRPCAddr",
  "shutdownDuration",
  "tls-cipher-suites",
  "tls-min-version",
  "tlsCertFile",
  "tlsKeyFile",
];

describe("flags", () => {
  afterEach(() => {
    process.exitCode = undefined;
    vi.restoreAllMocks();
  });

  async function errorOf(...args: string[]): Promise<{ readonly status: unknown; readonly error: string }> {
    let error = "";
    vi.spyOn(process.stdout, "write").mockImplementation(() => true);
    vi.spyOn(process.stderr, "write").mockImplementation((text) => ((error += String(text)), true));
    await run(["node", "istiod", "discovery", ...args]);
    return { status: process.exitCode, error };
  }

  it("of Istio are all accepted", () => {
    const known = Object.values(flags).map(({ flag }) => flag);
    expect(istioFlags.filter((name) => !known.includes(name))).toEqual([]);
  });

  it("of Istio all have an effect, so that none is warned about", () => {
    const given = Object.fromEntries(istioFlags.map((name) => [name, ["1"]]));
    expect(startupWarnings(given, {})).toEqual([]);
  });

  it("that are unknown are rejected with a suggestion", async () => {
    expect(await errorOf("--htpAddr", ":1")).toEqual({
      status: 2,
      error: expect.stringMatching(/unknown option '--htpAddr'\n\(Did you mean --httpAddr\?\)/) as string,
    });
  });

  it("limit TLS", () => {
    const limits = (set: Partial<Parameters<typeof tlsLimits>[0]>, env = {}) =>
      tlsLimits({ tlsMinVersion: "1.2", tlsCipherSuites: [], ...set }, env);
    expect(limits({})).toEqual({ minVersion: "TLSv1.2" });
    expect(limits({ tlsMinVersion: "1.3" })).toEqual({ minVersion: "TLSv1.3" });
    expect(limits({ tlsCipherSuites: ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"] }).ciphers).toBe(
      "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-RSA-AES128-GCM-SHA256",
    );
    expect(() => flags.tlsMinVersion.read({}, ["1.1"])).toThrow(
      'invalid value "1.1" for --tls-min-version: expected one of 1.2, 1.3',
    );
    expect(() => limits({ tlsCipherSuites: ["TLS_ECDHE_RSA_WITH_AES_128_GMC_SHA256"] })).toThrow(
      "is not supported; did you mean TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256?",
    );
    expect(limits({}, { COMPLIANCE_POLICY: "fips-140-2" })).toMatchObject({
      minVersion: "TLSv1.2",
      maxVersion: "TLSv1.2",
      curves: "P-256",
    });
    expect(() => limits({}, { COMPLIANCE_POLICY: "fips" })).toThrow(
      'invalid value "fips" for COMPLIANCE_POLICY: expected one of fips-140-2, fips-140-3, pqc',
    );
  });
});

describe("environment variables", () => {
  it("of features end istiod if their value is invalid", () => {
    expect(() => checkVariables({ PILOT_ENABLE_QUIC_LISTENERS: "maybe" })).toThrow(
      'invalid value "maybe" for PILOT_ENABLE_QUIC_LISTENERS: expected true or false',
    );
    expect(() => checkVariables({ PILOT_ENABLE_QUIC_LISTENERS: "T" })).not.toThrow();
  });

  it("that are read anywhere are known to be read", () => {
    const read = /(?:\benv|\benvironment)(?:\?\.)?(?:\[|, )"([A-Z][A-Z0-9_]+)"/g;
    const declared = /(?:\bvariable: |\w*(?:Variable|Feature|Flag|Number)\(\s*)"([A-Z][A-Z0-9_]{2,})"/g;
    const found = new Set(
      sources.flatMap((text) => [...text.matchAll(read), ...text.matchAll(declared)].map(([, name = ""]) => name)),
    );
    for (const ofOthers of ["NO_COLOR", "NODE_OPTIONS", "TERM"]) found.delete(ofOthers);
    expect(found.size).toBeGreaterThan(90);
    expect([...found].filter((name) => !readVariables.has(name)).sort()).toEqual([]);
  });

  it("that are declared as features are read by something", () => {
    const all = sources.join("\n");
    expect(Object.keys(features).filter((name) => !all.includes(`features.${name}`))).toEqual([]);
  });

  it("of Istio without effect are warned about in one line", () => {
    const env = {
      PILOT_ENABLE_XDS_CACHE: "true",
      PILOT_DEBOUNCE_AFTER: "1s",
      SECRET_TTL: "1h",
      PILOT_DEBOUNCE_AFTR: "1s",
    };
    expect(startupWarnings({}, env)).toEqual([
      "environment variables without effect are ignored: PILOT_ENABLE_XDS_CACHE",
      "unknown environment variable PILOT_DEBOUNCE_AFTR; did you mean PILOT_DEBOUNCE_AFTER?",
    ]);
  });

  it("that are read are Istio's or documented as additional", () => {
    const istios = new Set(discoveryVariables);
    expect([...readVariables].filter((name) => !istios.has(name)).sort()).toEqual([
      "DOMAIN_SUFFIX",
      "ENABLE_PROFILING",
      "ISTIOD_CONNECTION_IDLE_TIMEOUT",
      "ISTIOD_FIRST_REQUEST_TIMEOUT",
      "ISTIOD_HANDSHAKE_TIMEOUT",
      "ISTIOD_MAX_ADDRESSES_OF_SERVICE_ENTRY",
      "ISTIOD_MAX_BYTES_OF_ENVOY_FILTER",
      "ISTIOD_MAX_BYTES_OF_TELEMETRY",
      "ISTIOD_MAX_CLUSTERS_OF_DESTINATION_RULE",
      "ISTIOD_MAX_CLUSTERS_OF_SERVICE",
      "ISTIOD_MAX_CONNECTIONS",
      "ISTIOD_MAX_CONNECTIONS_PER_ADDRESS",
      "ISTIOD_MAX_CONNECTIONS_PER_IDENTITY",
      "ISTIOD_MAX_COPIED_BYTES_OF_OBJECT",
      "ISTIOD_MAX_ENDPOINTS_OF_SERVICE_ENTRY",
      "ISTIOD_MAX_FILTER_CHAINS_OF_VIRTUAL_SERVICE",
      "ISTIOD_MAX_GATEWAY_BYTES_OF_VIRTUAL_SERVICE",
      "ISTIOD_MAX_GATEWAY_ROUTES_OF_VIRTUAL_SERVICE",
      "ISTIOD_MAX_PATTERN_INSTRUCTIONS_OF_ROUTES",
      "ISTIOD_MAX_POLICY_BYTES_OF_DESTINATION_RULE",
      "ISTIOD_MAX_POLICY_BYTES_OF_WORKLOAD",
      "ISTIOD_MAX_PORTS_OF_PEER_AUTHENTICATION",
      "ISTIOD_MAX_ROUTES_OF_VIRTUAL_SERVICE",
      "ISTIOD_MAX_UNAUTHENTICATED_CONNECTIONS",
      "ISTIOD_MAX_UNAUTHENTICATED_STREAMS",
      "ISTIOD_MAX_UNFINISHED_REQUEST_BYTES",
      "ISTIOD_MAX_WILDCARD_HOSTS_OF_SIDECAR",
      "ISTIOD_MEMORY_THRESHOLD",
      "ISTIOD_NETWORK_GATEWAY_NAMESPACES",
      "ISTIOD_REQUEST_TIMEOUT",
      "ISTIOD_XDS_MAX_NAMES",
      "ISTIOD_XDS_MAX_TYPES",
      "ISTIOD_XDS_MAX_UNAUTHENTICATED_UNMATCHED_BYTES",
      "ISTIOD_XDS_MAX_UNMATCHED_BYTES",
      "ISTIOD_XDS_TOTAL_UNAUTHENTICATED_UNMATCHED_BYTES",
      "ISTIOD_XDS_TOTAL_UNMATCHED_BYTES",
      "KUBECONFIG",
      "KUBERNETES_SERVICE_HOST",
      "PILOT_GATEWAY_API_MATCH_CLUSTER_IP",
      "SSL_CERT_FILE",
    ]);
  });
});

describe("an invalid variable of a protection", () => {
  it.each([
    [{ EXTERNAL_CA: "ISTIOD_RA_KUBERNETES_API" }, /^EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API: there is no cluster /],
    [{ PILOT_CERT_PROVIDER: "custom" }, /^invalid value "custom" for PILOT_CERT_PROVIDER: expected istiod or k8s.io/],
    [{ PILOT_CERT_PROVIDER: "k8s.io/ca.example.com/a" }, /^PILOT_CERT_PROVIDER=k8s.io\/ca.example.com\/a: requires /],
    [
      { MAX_WORKLOAD_CERT_TTL: "short" },
      /^invalid value "short" for MAX_WORKLOAD_CERT_TTL: expected a duration such as 100ms, 10s or 1h30m$/,
    ],
    [{ PILOT_HTTP10: "yes" }, /^invalid value "yes" for PILOT_HTTP10: expected true or false$/],
    [
      { METRICS_LOCALHOST_ACCESS_ONLY: "yes" },
      /^invalid value "yes" for METRICS_LOCALHOST_ACCESS_ONLY: expected true or false$/,
    ],
  ])("ends istiod: %o", async (env, message) => {
    const configDir = await folder({ "empty.yaml": "" });
    await expect(serve({ configDir }, env)).rejects.toThrow(message);
  });

  it("is not requested by default", async () => {
    const configDir = await folder({ "empty.yaml": "" });
    const istiod = await serve(
      { configDir },
      { EXTERNAL_CA: "", PILOT_ENABLE_CA_CRL: "true", PILOT_CERT_PROVIDER: "istiod" },
    );
    expect((await fetch(`${istiod.http}/ready`)).status).toBe(200);
  });
});
