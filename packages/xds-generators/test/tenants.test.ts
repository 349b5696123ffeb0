import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { listenerNames, listenerType } from "./listeners/listener-parts.js";
import { podYaml, serviceYaml } from "./mesh-yaml.js";
import { TestMesh } from "./mesh.js";
import { RouteMesh } from "./routes/route-mesh.js";

const groups: Readonly<Record<string, string>> = {
  AuthorizationPolicy: "security.istio.io/v1",
  RequestAuthentication: "security.istio.io/v1",
};
const object = (kind: string, namespace: string, spec: object): string =>
  `---\n${JSON.stringify({ apiVersion: groups[kind] ?? "networking.istio.io/v1", kind, metadata: { name: "x", namespace }, spec })}\n`;

const host = "pay.bank.svc.cluster.local";
const bank = serviceYaml("pay", { namespace: "bank" }) + podYaml("pay", "10.1.0.7", { namespace: "bank" });
const evil = serviceYaml("evil", { namespace: "evil", ip: "10.96.0.66", ports: ["http:80:8080", "tcp:9000:9000"] });

describe("a WorkloadEntry of another namespace with the address of a Pod", () => {
  const keys = JSON.stringify({ keys: [{ kty: "RSA", e: "AQAB", n: Buffer.alloc(256, 1).toString("base64url") }] });
  const policies =
    object("RequestAuthentication", "bank", { jwtRules: [{ issuer: "a", jwks: keys }] }) +
    object("AuthorizationPolicy", "bank", { action: "CUSTOM", provider: { name: "ext" }, rules: [{}] });
  const settings = {
    extensionProviders: [{ name: "ext", envoyExtAuthzGrpc: { service: "evil.evil.svc.cluster.local", port: 9000 } }],
  };
  const pod = { namespace: "bank", name: "pay-10-1-0-7", ip: "10.1.0.7", labels: { app: "pay" } };

  it.each(["10.1.0.7", "10.1.0.8"])("changes neither its listeners nor its policies (%s)", (address) => {
    const mesh = new TestMesh("", settings);
    mesh.apply(bank + evil + policies);
    const inbound = () => mesh.proxy(pod).json(listenerType, "virtualInbound");
    const before = inbound();
    expect(JSON.stringify(before)).toMatch(/ext_authz.*jwt_authn|jwt_authn.*ext_authz/);
    mesh.apply(object("WorkloadEntry", "evil", { address, labels: { app: "evil" } }));
    expect(inbound()).toEqual(before);
  });
});

describe("a VirtualService for a host of another namespace", () => {
  const stolen = (fields: object = {}) =>
    object("VirtualService", "evil", {
      hosts: [host],
      http: [{ route: [{ destination: { host: "evil.evil.svc.cluster.local" } }] }],
      ...fields,
    });
  const routesTo = (mesh: RouteMesh): boolean =>
    JSON.stringify(
      mesh
        .sidecar("shop")
        .configuration("80")
        .virtualHosts?.find(({ domains }) => domains.includes(host)),
    ).includes("evil.evil.svc");

  it("routes the requests of others, as in Istio", () => {
    expect(routesTo(new RouteMesh(bank + evil + stolen()))).toBe(true);
  });

  it("does not with a default export, or Sidecars of the clients", () => {
    const settings = { defaultVirtualServiceExportTo: ["."] };
    expect(routesTo(new RouteMesh(bank + evil + stolen(), { settings }))).toBe(false);
    expect(routesTo(new RouteMesh(bank + evil + stolen({ exportTo: ["*"] }), { settings }))).toBe(true);
    const sidecar = object("Sidecar", "shop", { egress: [{ hosts: ["./*", "bank/*"] }] });
    expect(routesTo(new RouteMesh(bank + evil + sidecar + stolen({ exportTo: ["*"] })))).toBe(false);
  });
});

describe("a ServiceEntry for other namespaces", () => {
  const entry = (fields: object = {}) =>
    object("ServiceEntry", "evil", {
      hosts: ["api.example.org"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "STATIC",
      endpoints: [{ address: "10.1.0.66" }],
      ...fields,
    });
  const isSeen = (yaml: string, settings: JsonObject = {}): boolean => {
    const mesh = new TestMesh("", settings);
    mesh.apply(yaml);
    return mesh.proxy().has("envoy.config.cluster.v3.Cluster", "outbound|80||api.example.org");
  };

  it("is used by them, as in Istio, and not with the settings that limit it", () => {
    expect(isSeen(entry())).toBe(true);
    expect(isSeen(entry(), { defaultServiceExportTo: ["."] })).toBe(false);
    const visibility = { serviceEntryVisibility: { applyToSidecars: true, defaultVisibility: "NAMESPACE" } };
    expect(isSeen(entry({ exportTo: ["*"] }), visibility)).toBe(false);
    expect(isSeen(entry() + object("Sidecar", "shop", { egress: [{ hosts: ["./*"] }] }))).toBe(false);
  });
});

it("a DestinationRule for a host of another namespace applies to clients of its own namespace only", () => {
  const mesh = new TestMesh(
    bank +
      object("DestinationRule", "evil", { host, trafficPolicy: { connectionPool: { tcp: { maxConnections: 1 } } } }),
  );
  const limit = (namespace: string): unknown =>
    mesh.proxy({ namespace }).cluster(`outbound|80||${host}`).circuitBreakers.thresholds[0].maxConnections;
  expect([limit("evil"), limit("shop")]).toEqual([1, 4294967295]);
});

it("a Gateway selects the proxies of other namespaces, unless gateways are scoped to namespaces", () => {
  const redirect = object("Gateway", "evil", {
    selector: { istio: "ingress" },
    servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"], tls: { httpsRedirect: true } }],
  });
  const listeners = (variables: Readonly<Record<string, string>>): readonly string[] => {
    const mesh = new TestMesh(redirect);
    for (const [name, value] of Object.entries(variables)) mesh.set(name, value);
    return listenerNames(mesh.proxy({ type: "router", namespace: "ingress", labels: { istio: "ingress" } }));
  };
  expect(listeners({}).join()).toContain("80");
  expect(listeners({ PILOT_SCOPE_GATEWAY_TO_NAMESPACE: "true" })).toEqual([]);
});
