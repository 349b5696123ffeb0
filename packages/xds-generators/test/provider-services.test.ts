import { describe, expect, it } from "vitest";
import { istioYaml, serviceEntry, serviceYaml } from "./mesh-yaml.js";
import { clusterType, TestMesh } from "./mesh.js";

const listenerType = "envoy.config.listener.v3.Listener";
const host = (name: string, namespace = "obs"): string => `${name}.${namespace}.svc.cluster.local`;
const alias = (name: string, externalName: string, namespace = "obs"): string =>
  serviceYaml(name, {
    ...{ namespace, ports: ["http:1"] },
    spec: { type: "ExternalName", externalName, clusterIP: "", selector: {} },
  });
const real = serviceYaml("real", { namespace: "obs", ip: "10.96.0.7", ports: ["grpc:9000"] });
const own = serviceYaml("web", { ip: "10.96.0.8", ports: ["http:80"] });

/** An object of another group than networking. */
const groupYaml = (group: string, ...of: Parameters<typeof istioYaml>): string =>
  istioYaml(...of).replace("networking.", `${group}.`);
const telemetry = (section: object): string => groupYaml("telemetry", "Telemetry", "all", section);
const custom = groupYaml("security", "AuthorizationPolicy", "custom", {
  action: "CUSTOM",
  provider: { name: "p" },
  rules: [{}],
});
const tracing = telemetry({ tracing: [{ providers: [{ name: "p" }] }] });
const logging = telemetry({ accessLogging: [{ providers: [{ name: "p" }] }] });
/** The configuration that uses a provider of each kind, whose other fields are given. */
const kinds: readonly (readonly [kind: string, fields: object, yaml: string])[] = [
  ["zipkin", {}, tracing],
  ["datadog", {}, tracing],
  ["skywalking", {}, tracing],
  ["opentelemetry", {}, tracing],
  ["opentelemetry", { http: { path: "/v1/traces" } }, tracing],
  ["envoyHttpAls", {}, logging],
  ["envoyTcpAls", {}, logging],
  ["envoyOtelAls", {}, logging],
  ["envoyExtAuthzHttp", {}, custom],
  ["envoyExtAuthzGrpc", {}, custom],
];

/** Returns the clusters that listeners refer to, apart from those of the proxy's own services, and what they say. */
function clustersOf(yaml: string, config: object, environment: Readonly<Record<string, string>> = {}) {
  const mesh = new TestMesh(own + yaml, config as never);
  for (const [name, value] of Object.entries(environment)) mesh.set(name, value);
  const proxy = mesh.proxy({ labels: { app: "web" } });
  const text = JSON.stringify(proxy.names(listenerType).map((name) => proxy.json(listenerType, name)));
  const found = new Set([...text.matchAll(/"(outbound\|(?:9000|1)\|[^"]+)"/g)].map(([, name]) => name as string));
  const sent = proxy.names(clusterType);
  return { found: [...found], sent: [...found].filter((name) => sent.includes(name)), text };
}

describe.each(kinds)("the service of a provider %s %j", (kind, fields, yaml) => {
  const config = (service: string) => ({
    extensionProviders: [{ name: "p", [kind]: { service, port: 9000, ...fields } }],
  });
  const expected = (yamlOf: string, service: string, cluster: string): void => {
    const { found, sent, text } = clustersOf(yamlOf + yaml, config(service));
    expect(found).toEqual([cluster]);
    expect(sent).toEqual(found);
    expect(text).not.toContain(host("name"));
  };

  it("may be an alias", () => {
    expected(real + alias("name", host("real")), host("name"), `outbound|9000||${host("real")}`);
    expected(real + alias("name", host("real")), `obs/${host("name")}`, `outbound|9000||${host("real")}`);
    const chain = alias("name", host("between")) + alias("between", host("real"));
    expected(real + chain, host("name"), `outbound|9000||${host("real")}`);
  });

  it("may be an alias of a host outside", () => {
    const entry = serviceEntry("out", {
      hosts: ["otel.example.com"],
      ports: [{ number: 9000, name: "grpc", protocol: "GRPC" }],
      resolution: "DNS",
    });
    expected(entry + alias("name", "otel.example.com"), host("name"), "outbound|9000||otel.example.com");
  });

  it("is left out if it stands for no service", () => {
    for (const wrong of [
      alias("name", "otel.example.com"),
      alias("name", host("other")) + alias("other", host("name")),
    ])
      expect(clustersOf(wrong + yaml, config(host("name"))).found).toEqual([]);
  });
});

it("the server of a key set that proxies fetch may be an alias", () => {
  const rule = { issuer: "a", jwksUri: `http://${host("name")}:9000/jwks` };
  const yaml =
    real + alias("name", host("real")) + groupYaml("security", "RequestAuthentication", "a", { jwtRules: [rule] });
  const { found, sent } = clustersOf(yaml, {}, { PILOT_JWT_ENABLE_REMOTE_JWKS: "hybrid" });
  expect(found).toEqual([`outbound|9000||${host("real")}`]);
  expect(sent).toEqual(found);
});

it("the server of external credentials may be an alias, at a gateway with only the clusters that it needs", () => {
  const gateway = istioYaml("Gateway", "web", {
    selector: { istio: "edge" },
    servers: [
      {
        port: { number: 443, name: "https", protocol: "HTTPS" },
        hosts: ["a.example.com"],
        tls: { mode: "SIMPLE", credentialName: "sds://a" },
      },
    ],
  });
  const route = istioYaml("VirtualService", "web", {
    ...{ hosts: ["a.example.com"], gateways: ["web"] },
    http: [{ route: [{ destination: { host: "web" } }] }],
  });
  const config = { extensionProviders: [{ name: "p", sds: { name: "p", service: host("name"), port: 9000 } }] };
  const mesh = new TestMesh(own + real + alias("name", host("real")) + gateway + route, config as never);
  mesh.set("PILOT_FILTER_GATEWAY_CLUSTER_CONFIG", "true");
  const router = mesh.proxy({ type: "router", labels: { istio: "edge" } });
  expect(JSON.stringify(router.json(listenerType, "0.0.0.0_443"))).toContain(`outbound|9000||${host("real")}`);
  expect(router.names(clusterType).filter((name) => name.startsWith("outbound"))).toEqual([
    `outbound|80||${host("web", "shop")}`,
    `outbound|9000||${host("real")}`,
  ]);
});
