/** A spec that the API server rejects for one reason, and one that differs from it in nothing else and is accepted. */
export interface RuleCase {
  readonly apiVersion: string;
  readonly kind: string;
  readonly accepted: object;
  readonly rejected: object;
  /** Part of the server's reason. */
  readonly reason: string;
}

const of =
  (apiVersion: string, kind: string) =>
  (accepted: object, rejected: object, reason: string): RuleCase => ({ apiVersion, kind, accepted, rejected, reason });
const serviceEntry = of("networking.istio.io/v1", "ServiceEntry");
const entry = (fields: object): object => ({ hosts: ["db.example.com"], ...fields });
const workloadEntry = of("networking.istio.io/v1", "WorkloadEntry");
const workloadGroup = of("networking.istio.io/v1", "WorkloadGroup");
const group = (fields: object): object => ({ template: {}, ...fields });
const gateway = of("networking.istio.io/v1", "Gateway");
const server = (tls: object): object => ({
  servers: [{ hosts: ["*"], port: { number: 443, name: "https", protocol: "HTTPS" }, tls: { mode: "SIMPLE", ...tls } }],
});
const filter = of("networking.istio.io/v1alpha3", "EnvoyFilter");
const match = (fields: object): object => ({ configPatches: [{ applyTo: "CLUSTER", match: fields }] });
const rule = of("networking.istio.io/v1", "DestinationRule");
const policy = (trafficPolicy: object): object => ({ host: "cart", trafficPolicy });
const authentication = of("security.istio.io/v1", "RequestAuthentication");
const jwt = (fields: object): object => ({ jwtRules: [{ issuer: "shop", ...fields }] });
const peers = of("security.istio.io/v1", "PeerAuthentication");
const selector = { matchLabels: { app: "cart" } };
const authorization = of("security.istio.io/v1", "AuthorizationPolicy");
const source = (fields: object): object => ({ rules: [{ from: [{ source: fields }] }] });
const target = { kind: "Gateway", group: "gateway.networking.k8s.io", name: "edge" };
const telemetry = of("telemetry.istio.io/v1", "Telemetry");
const tag = (fields: object): object => ({ metrics: [{ overrides: [{ tagOverrides: { host: fields } }] }] });
const wasm = of("extensions.istio.io/v1alpha1", "WasmPlugin");
const plugin = (fields: object): object => ({ url: "oci://registry.example.com/limit:1", ...fields });
const env = (fields: object): object => plugin({ vmConfig: { env: [{ name: "A", ...fields }] } });
const extension = of("extensions.istio.io/v1alpha1", "TrafficExtension");
const lua = { inlineCode: "return" };
const proxyConfig = of("networking.istio.io/v1beta1", "ProxyConfig");
const sidecar = of("networking.istio.io/v1", "Sidecar");
const virtualService = of("networking.istio.io/v1", "VirtualService");
const port = { number: 80, name: "http", protocol: "HTTP" };

export const ruleCases: readonly RuleCase[] = [
  serviceEntry(entry({}), {}, "spec.hosts: Required"),
  serviceEntry(entry({}), entry({ hosts: ["*"] }), "must not be '*'"),
  serviceEntry(entry({}), entry({ hosts: [] }), "spec.hosts"),
  serviceEntry(entry({ ports: [port] }), entry({ ports: [{ ...port, number: 0 }] }), "ports[0].number"),
  serviceEntry(entry({ ports: [port] }), entry({ ports: [{ ...port, targetPort: 70000 }] }), "targetPort"),
  serviceEntry(
    entry({ ports: [port, { ...port, number: 81, name: "more" }] }),
    entry({ ports: [port, { ...port, name: "more" }] }),
    "port numbers must be unique",
  ),
  serviceEntry(
    entry({ ports: [port, { ...port, number: 81, name: "more" }] }),
    entry({ ports: [port, { ...port, number: 81 }] }),
    "Duplicate value",
  ),
  serviceEntry(
    entry({ addresses: ["10.0.0.0/8"], resolution: "STATIC" }),
    entry({ addresses: ["10.0.0.0/8"], resolution: "DNS" }),
    "CIDR",
  ),
  serviceEntry(
    entry({ endpoints: [{ address: "a" }], resolution: "DNS" }),
    entry({ endpoints: [{ address: "a" }] }),
    "resolution NONE",
  ),
  serviceEntry(
    entry({ endpoints: [{ address: "a" }], resolution: "DNS_ROUND_ROBIN" }),
    entry({ endpoints: [{ address: "a" }, { address: "b" }], resolution: "DNS_ROUND_ROBIN" }),
    "at most one endpoint",
  ),
  serviceEntry(
    entry({ workloadSelector: { labels: { app: "db" } }, resolution: "STATIC" }),
    entry({ workloadSelector: { labels: { app: "db" } }, resolution: "STATIC", endpoints: [{ address: "a" }] }),
    "at most one of workloadSelector and endpoints",
  ),
  workloadEntry({ network: "west" }, {}, "address or network must be set"),
  workloadEntry({ address: "unix:///run/db" }, { address: "unix:///run/db/" }, "must not be a directory"),
  workloadEntry({ address: "unix://@db" }, { address: "unix://db" }, "absolute path"),
  workloadEntry({ address: "unix:///run/db" }, { address: "unix:///run/db", ports: { a: 1 } }, "must not have ports"),
  workloadEntry({ address: "a", ports: { "sql-1": 5432 } }, { address: "a", ports: { sql_1: 5432 } }, "port names"),
  workloadEntry({ address: "a", ports: { sql: 65535 } }, { address: "a", ports: { sql: 65536 } }, "spec.ports"),
  workloadGroup(group({}), {}, "spec.template: Required"),
  workloadGroup(group({ probe: { tcpSocket: { port: 1 } } }), group({ probe: { tcpSocket: { port: 0 } } }), "port"),
  workloadGroup(
    group({ probe: { httpGet: { port: 1, scheme: "HTTPS" } } }),
    group({ probe: { httpGet: { port: 1, scheme: "https" } } }),
    "must be HTTP or HTTPS",
  ),
  workloadGroup(group({ probe: { periodSeconds: 0 } }), group({ probe: { periodSeconds: -1 } }), "periodSeconds"),
  workloadGroup(
    group({ probe: { exec: { command: ["true"] } } }),
    group({ probe: { exec: { command: ["true"] }, tcpSocket: { port: 1 } } }),
    "must validate one and only one schema",
  ),
  gateway(
    server({ credentialNames: ["a"] }),
    server({ credentialNames: ["a"], credentialName: "b" }),
    "credentialName and credentialNames",
  ),
  gateway(server({ credentialNames: ["a", "b"] }), server({ credentialNames: ["a", "b", "c"] }), "credentialNames"),
  gateway(
    server({ credentialNames: ["a"] }),
    server({ credentialNames: ["a"], tlsCertificates: [{}] }),
    "tlsCertificates and credentialNames",
  ),
  gateway(server({ mode: "MUTUAL" }), server({ mode: "BOTH" }), "Unsupported value"),
  filter(
    match({ context: "WAYPOINT", waypoint: { portNumber: 1 } }),
    match({ context: "GATEWAY", waypoint: { portNumber: 1 } }),
    "if and only if context is WAYPOINT",
  ),
  filter(match({ context: "GATEWAY" }), match({ context: "WAYPOINT" }), "if and only if context is WAYPOINT"),
  rule(policy({}), { trafficPolicy: {} }, "spec.host: Required"),
  rule(
    policy({ connectionPool: { http: { idleTimeout: "1ms" } } }),
    policy({ connectionPool: { http: { idleTimeout: "999us" } } }),
    "at least 1ms",
  ),
  rule(
    policy({ connectionPool: { tcp: { idleTimeout: "0s" } } }),
    policy({ connectionPool: { tcp: { connectTimeout: "0s" } } }),
    "at least 1ms",
  ),
  rule(
    policy({ retryBudget: { percent: 100, budgetInterval: "0s" } }),
    policy({ retryBudget: { percent: 101 } }),
    "percent",
  ),
  rule(
    policy({ loadBalancer: { simple: "RANDOM" } }),
    policy({ loadBalancer: { simple: "RANDOM", consistentHash: { useSourceIp: true } } }),
    "one and only one schema",
  ),
  authentication(jwt({ jwksUri: "https://a/keys" }), jwt({ jwksUri: "ftp://a/keys" }), "scheme http or https"),
  authentication(jwt({ jwks_uri: "https://a/keys" }), jwt({ jwks_uri: "https://a/keys", jwks: "{}" }), "jwks_uri"),
  authentication(
    jwt({ outputClaimToHeaders: [{ header: "x-a", claim: "a" }] }),
    jwt({ outputClaimToHeaders: [{ header: "x:a", claim: "a" }] }),
    "header",
  ),
  authentication({ selector }, { selector, targetRefs: [target] }, "at most one of selector, targetRef and targetRefs"),
  authentication({ targetRef: target }, { targetRef: { ...target, namespace: "edge" } }, "other namespaces"),
  peers({ selector, portLevelMtls: { 80: { mode: "STRICT" } } }, { portLevelMtls: { 80: {} } }, "requires a selector"),
  peers({ selector, portLevelMtls: { 80: {} } }, { selector, portLevelMtls: { 0: {} } }, "ports from 1 to 65535"),
  peers({ selector }, { selector: { matchLabels: { "app*": "cart" } } }, "keys must not contain"),
  peers({ selector }, { selector: { matchLabels: { app: "*" } } }, "must not contain '*'"),
  authorization(
    source({ principals: ["a"] }),
    source({ principals: ["a"], serviceAccounts: ["b"] }),
    "serviceAccounts",
  ),
  authorization(source({ serviceAccounts: ["b"] }), source({ serviceAccounts: Array(17).fill("b") }), "at most 16"),
  telemetry(tag({ value: "a" }), tag({ operation: "UPSERT" }), "value must be set"),
  telemetry(tag({ operation: "REMOVE" }), tag({ operation: "REMOVE", value: "a" }), "value must not be set"),
  telemetry(
    { tracing: [{ randomSamplingPercentage: 100 }] },
    { tracing: [{ randomSamplingPercentage: 100.1 }] },
    "randomSamplingPercentage",
  ),
  wasm(plugin({}), { phase: "AUTHN" }, "spec.url: Required"),
  wasm(plugin({ url: "registry.example.com/limit" }), plugin({ url: "ftp://example.com/limit" }), "scheme http, https"),
  wasm(plugin({ sha256: "" }), plugin({ sha256: "abc" }), "sha256"),
  wasm(env({ valueFrom: "HOST" }), env({ valueFrom: "HOST", value: "b" }), "must not be set when valueFrom is HOST"),
  extension({ lua }, {}, "exactly one of wasm and lua"),
  extension({ wasm: { url: "oci://a/b" } }, { wasm: { url: "oci://a/b" }, lua }, "exactly one of wasm and lua"),
  proxyConfig({ concurrency: 0 }, { concurrency: -1 }, "concurrency"),
  sidecar({ egress: [{ hosts: ["./*"] }] }, { egress: [{}] }, "egress[0].hosts: Required"),
  virtualService(
    { http: [{ mirror_percent: 5, mirrorPercent: 5 }] },
    { http: [{ route: [{ weight: 1 }] }] },
    "destination: Required",
  ),
];
