import { productBounds } from "@istiod/config-schema";
import { describe, expect, test } from "vitest";
import { omissions } from "../../src/index.js";
import { type Json, TestMesh, type TestProxy } from "../mesh.js";

const variable = productBounds.policyBytes.variable;
const list = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join(", ");

const workload = (ports: number, protocol = "HTTP"): string => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart.example.com]
  ports: [${list(ports, (i) => `{number: ${1000 + i}, name: p${i}, protocol: ${protocol}}`)}]
  location: MESH_INTERNAL
  resolution: STATIC
  workloadSelector: {labels: {app: cart}}
---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: cart, namespace: shop, labels: {app: cart}}
spec: {address: 10.1.0.1, labels: {app: cart}}
`;
const policy = (action: string, paths: number, { name = "paths", annotations = "{}" } = {}): string => `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: ${name}, namespace: shop, annotations: ${annotations}}
spec:
  action: ${action}
  rules:
  - from: [{source: {notNamespaces: [admin]}}]
    to: [{operation: {paths: [${list(paths, (i) => `/${i}/*`)}]}}]
`;
const tokens = (name: string, keys: number): string => `
apiVersion: security.istio.io/v1
kind: RequestAuthentication
metadata: {name: ${name}, namespace: shop}
spec:
  jwtRules: [{issuer: ${name}, jwks: '{"keys": [${list(keys, (i) => `{"kty": "oct", "kid": "${i}", "k": "AAAA"}`)}]}'}]
`;

const cart = (mesh: TestMesh): TestProxy => mesh.proxy({ labels: { app: "cart" } });

/** Returns the filters of all inbound chains with a name: of connection managers and of connections. */
function filters(proxy: TestProxy, name: string): { readonly http: readonly Json[]; readonly tcp: readonly Json[] } {
  const listener = proxy.json("envoy.config.listener.v3.Listener", "virtualInbound");
  const all: readonly Json[] = listener.filterChains.flatMap((chain: Json) => chain.filters);
  const managers = all.filter((filter) => filter.name === "envoy.filters.network.http_connection_manager");
  const named = (found: Json): boolean => found.name === `envoy.filters.http.${name}`;
  return {
    http: managers.map((manager) => manager.typedConfig.httpFilters.find(named)?.typedConfig),
    tcp: all.filter((found) => found.name === `envoy.filters.network.${name}`).map((found) => found.typedConfig),
  };
}

const anyone = {
  permissions: [{ andRules: { rules: [{ any: true }] } }],
  principals: [{ andIds: { ids: [{ any: true }] } }],
};

/** Expects that each chain denies everything in the name of a policy. */
function expectDenial(proxy: TestProxy, name: string): void {
  const { http, tcp } = filters(proxy, "rbac");
  expect(http.length).toBeGreaterThan(1);
  expect(tcp.length).toBeGreaterThan(1);
  for (const config of [...http, ...tcp])
    expect(config.rules).toEqual({
      action: "DENY",
      policies: { [`ns[shop]-policy[${name} (over bound)]-rule[0]`]: anyone },
    });
}

describe("policies that multiply with the filter chains of a workload", () => {
  test.each(["DENY", "ALLOW"])("are sent within the bound, and deny everything beyond it: %s", (action) => {
    const mesh = new TestMesh(`${workload(10)}---${policy(action, 500)}`);
    const proxy = cart(mesh);
    const sent = filters(proxy, "rbac").http;
    expect(sent).toHaveLength(22);
    for (const { rules } of sent) expect(Object.keys(rules.policies)).toEqual(["ns[shop]-policy[paths]-rule[0]"]);
    expect(proxy.view.call(omissions).listenerConflicts).toEqual([]);
    mesh.set(variable, "100000");
    expectDenial(proxy, "paths");
    const [denied, ...others] = proxy.view.call(omissions).listenerConflicts;
    expect(others).toEqual([]);
    expect(denied?.ignored).toEqual({ kind: "policy", object: "AuthorizationPolicy", policy: "shop/paths" });
    expect(denied?.reason).toMatch(
      /^with all policies of the workload, and every request is denied in their place: 22 HTTP filter chains × \d+ \+ 3 TCP/,
    );
    expect(denied?.reason).toContain("bytes, of at most 100000 (ISTIOD_MAX_POLICY_BYTES_OF_WORKLOAD)");
    mesh.apply(workload(1));
    expect(filters(proxy, "rbac").http).toHaveLength(4);
    expect(proxy.view.call(omissions).listenerConflicts).toHaveLength(0);
  });

  test("are counted with the policies of the root namespace and at ports with a mode of mutual TLS of their own", () => {
    const ports = list(30, (i) => `${7000 + i}: {mode: STRICT}`);
    const modes = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: modes, namespace: shop}
spec: {selector: {matchLabels: {app: cart}}, portLevelMtls: {${ports}}}
`;
    const root = policy("DENY", 500).replaceAll("shop", "istio-system");
    const mesh = new TestMesh(`${workload(1)}---${root}---${policy("ALLOW", 1, { name: "few" })}`);
    mesh.set(variable, "200000");
    const proxy = cart(mesh);
    expect(proxy.view.call(omissions).listenerConflicts).toEqual([]);
    mesh.apply(modes);
    expect(filters(proxy, "rbac").http.map(({ rules }) => Object.keys(rules.policies))).toEqual(
      Array.from({ length: 34 }, () => ["ns[istio-system]-policy[paths (over bound)]-rule[0]"]),
    );
    expect(proxy.view.call(omissions).listenerConflicts.map(({ ignored }) => ignored)).toEqual([
      { kind: "policy", object: "AuthorizationPolicy", policy: "istio-system/paths" },
      { kind: "policy", object: "AuthorizationPolicy", policy: "shop/few" },
    ]);
  });

  test.each([
    ["AUDIT", policy("AUDIT", 500)],
    ["dry run", policy("DENY", 500, { annotations: '{istio.io/dry-run: "true"}' })],
  ])("deny nothing if they only report: %s", (_, yaml) => {
    const mesh = new TestMesh(`${workload(10)}---${yaml}`).set(variable, "100000");
    const proxy = cart(mesh);
    expect(filters(proxy, "rbac").http).toEqual(Array.from({ length: 22 }, () => undefined));
    expect(proxy.view.call(omissions).listenerConflicts).toHaveLength(1);
  });

  test("make every request without a valid token fail in place of a RequestAuthentication, and no connection", () => {
    const mesh = new TestMesh(`${workload(10)}---${tokens("issuer", 200)}`);
    const proxy = cart(mesh);
    const sent = filters(proxy, "jwt_authn").http;
    expect(sent).toHaveLength(22);
    for (const { providers } of sent) expect(Object.keys(providers)).toEqual(["origins-0"]);
    mesh.set(variable, "100000");
    const rejecting = filters(proxy, "jwt_authn").http;
    expect(rejecting).toHaveLength(22);
    for (const { providers, rules, bypassCorsPreflight } of rejecting) {
      expect(Object.keys(providers)).toEqual(["rejected"]);
      expect(rules).toEqual([{ match: { prefix: "/" }, requires: { providerName: "rejected" } }]);
      expect(bypassCorsPreflight).toBeUndefined();
    }
    expect(filters(proxy, "rbac").tcp).toEqual([]);
    expect(proxy.view.call(omissions).listenerConflicts.map(({ ignored }) => ignored)).toEqual([
      { kind: "policy", object: "RequestAuthentication", policy: "shop/issuer" },
    ]);
  });

  test("are those of one workload: another one with fewer ports has them", () => {
    const mesh = new TestMesh(`${workload(10)}---${policy("DENY", 500)}`).set(variable, "100000");
    expectDenial(cart(mesh), "paths");
    const { http } = filters(mesh.proxy({ ip: "10.1.0.2", name: "other" }), "rbac");
    expect(http.map(({ rules }) => Object.keys(rules.policies))).toEqual([
      ["ns[shop]-policy[paths]-rule[0]"],
      ["ns[shop]-policy[paths]-rule[0]"],
    ]);
  });

  test("are bounded by default: 300 KB at 100 ports", { timeout: 60_000 }, () => {
    expectDenial(cart(new TestMesh(`${workload(100)}---${policy("DENY", 30_000)}`)), "paths");
  });
});

describe("policies that multiply with the servers of a gateway", () => {
  const gateway = (servers: number): string => `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  selector: {app: cart}
  servers: [${list(servers, (i) => `{port: {number: 443, name: s${i}, protocol: HTTPS}, hosts: [h${i}.example.com], tls: {mode: SIMPLE, credentialName: c${i}}}`)}]
`;
  const rules = (proxy: TestProxy): readonly string[] => {
    const { filterChains } = proxy.json("envoy.config.listener.v3.Listener", "0.0.0.0_443");
    return filterChains.flatMap(({ filters: [manager] }: Json) =>
      manager.typedConfig.httpFilters.flatMap(({ name, typedConfig }: Json) =>
        name === "envoy.filters.http.rbac" ? Object.keys(typedConfig.rules.policies) : [],
      ),
    );
  };

  test("are sent within the bound, and deny everything beyond it", () => {
    const mesh = new TestMesh(`${gateway(9)}---${policy("ALLOW", 500)}`);
    const { bytes } = mesh
      .proxy({ type: "router", labels: { app: "cart" } })
      .resource("envoy.config.listener.v3.Listener", "0.0.0.0_443");
    mesh.set(variable, String(bytes.length));
    const proxy = mesh.proxy({ type: "router", labels: { app: "cart" } });
    expect(rules(proxy)).toEqual(Array.from({ length: 9 }, () => "ns[shop]-policy[paths]-rule[0]"));
    mesh.apply(gateway(18));
    expect(rules(proxy)).toEqual(Array.from({ length: 18 }, () => "ns[shop]-policy[paths (over bound)]-rule[0]"));
    expect(proxy.view.call(omissions).listenerConflicts).toHaveLength(1);
  });
});
