import { expect, it } from "vitest";
import type { Json } from "../mesh.js";
import { cart, grpcClient, type GrpcOptions, meshOf } from "./grpc-client.js";

const name = "xds.istio.io/grpc/lds/inbound/0.0.0.0:8080";
const peer = (mode: string): string => `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: ${mode}}}
`;
const policy = (spec: string): string => `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: p, namespace: shop}
spec: ${spec}
`;

function chain(yaml: string, options: GrpcOptions = {}): Json {
  const { filterChains, ...listener } = grpcClient(meshOf(yaml), options).get("lds", name);
  expect(Object.keys(listener).sort()).toEqual(["address", "name"]);
  expect(filterChains).toHaveLength(1);
  return filterChains[0];
}

const filtersOf = (found: Json): Json[] => found.filters[0].typedConfig.httpFilters;
const rulesOf = (yaml: string): Json[] =>
  filtersOf(chain(yaml))
    .slice(0, -1)
    .map(({ typedConfig }) => typedConfig.rules);

it("a server's listener has the address that it binds, and exists before a Service does", () => {
  const client = grpcClient(meshOf(peer("DISABLE")));
  expect(client.get("lds", name).address.socketAddress).toEqual({ address: "0.0.0.0", portValue: 8080 });
  const ipv6 = client.get("lds", "xds.istio.io/grpc/lds/inbound/[::]:8080");
  expect(ipv6.address.socketAddress).toEqual({ address: "::", portValue: 8080 });
  for (const bad of ["", "8080", "0.0.0.0:99999", "[::]"])
    expect(client.get("lds", `xds.istio.io/grpc/lds/inbound/${bad}`), bad).toBeUndefined();
});

it("mutual TLS is required if STRICT, or if PERMISSIVE and clients are told to use it", () => {
  const isSecure = (mode: string, labels = {}): boolean => chain(peer(mode), { labels }).transportSocket !== undefined;
  const told = { "security.istio.io/tlsMode": "istio" };
  expect([isSecure("STRICT"), isSecure("DISABLE"), isSecure("PERMISSIVE")]).toEqual([true, false, false]);
  expect([isSecure("PERMISSIVE", told), isSecure("DISABLE", told)]).toEqual([true, false]);
});

it("a server requires certificates of the mesh, without names, which libraries reject", () => {
  const { requireClientCertificate, commonTlsContext } = chain(peer("STRICT")).transportSocket.typedConfig;
  expect(requireClientCertificate).toBe(true);
  expect(commonTlsContext.combinedValidationContext.defaultValidationContext).toEqual({
    caCertificateProviderInstance: { instanceName: "default", certificateName: "ROOTCA" },
  });
});

it("a port has its own mode", () => {
  const port = peer("STRICT").replace(
    "spec: {",
    "spec: {selector: {matchLabels: {app: web}}, portLevelMtls: {8080: {mode: DISABLE}}, ",
  );
  expect(chain(port, { labels: { app: "web" } }).transportSocket).toBeUndefined();
  expect(chain(port, { labels: { app: "other" } }).transportSocket).toBeUndefined();
});

it("policies are RBAC filters with names of their own, DENY before ALLOW", () => {
  const yaml = `${policy("{action: DENY, rules: [{from: [{source: {namespaces: [evil]}}]}]}")}---${policy("{rules: [{to: [{operation: {paths: [/a/b]}}]}]}").replace("name: p,", "name: q,")}`;
  const filters = filtersOf(chain(yaml));
  expect(filters.map(({ name: filter }) => filter)).toEqual([
    "envoy.filters.http.rbac.DENY",
    "envoy.filters.http.rbac",
    "envoy.filters.http.router",
  ]);
  expect(filters[0].typedConfig.rules.action).toBe("DENY");
});

it("a policy without rules allows nothing", () => {
  const [rules] = rulesOf(policy("{}"));
  expect(rules.policies["ns[shop]-policy[p]-rule[0]"]).toEqual({
    permissions: [{ notRule: { any: true } }],
    principals: [{ notId: { any: true } }],
  });
});

it("an ALLOW rule that gRPC cannot evaluate is left out, so that it allows nothing", () => {
  for (const rule of [
    "{from: [{source: {requestPrincipals: ['*']}}]}",
    "{when: [{key: 'request.auth.claims[a]', values: [b]}]}",
    "{to: [{operation: {paths: ['/a/{*}']}}]}",
  ])
    expect(rulesOf(policy(`{rules: [${rule}]}`)), rule).toEqual([{}]);
});

it("a DENY rule denies more without what gRPC cannot evaluate", () => {
  const [rules] = rulesOf(
    policy(
      "{action: DENY, rules: [{to: [{operation: {paths: [/a], methods: [POST]}}], from: [{source: {notRequestPrincipals: ['*']}}]}]}",
    ),
  );
  const denied = rules.policies["ns[shop]-policy[p]-rule[0]"];
  expect(denied.principals).toEqual([{ andIds: { ids: [{ any: true }] } }]);
  expect(JSON.stringify(denied.permissions)).toContain("/a");
});

it("requests that an external authorizer would decide on are denied; dry runs have no effect", () => {
  const custom = policy("{action: CUSTOM, provider: {name: ext}, rules: [{to: [{operation: {paths: [/a]}}]}]}");
  expect(rulesOf(custom)).toMatchObject([{ action: "DENY" }]);
  const dryRun = policy("{action: DENY, rules: [{}]}").replace(
    "namespace: shop}",
    'namespace: shop, annotations: {istio.io/dry-run: "true"}}',
  );
  expect(rulesOf(dryRun)).toEqual([]);
  expect(rulesOf(cart)).toEqual([]);
});
