import { optional, rare, some, unique } from "@istiod/gateway-api/testing";
import fc from "fast-check";
import { objects, selector } from "./fields.js";

const { constantFrom, record, oneof } = fc;
const security = "security.istio.io/v1";
const mode = constantFrom("STRICT", "PERMISSIVE", "DISABLE", "UNSET");

const peerAuthentication = oneof<fc.Arbitrary<object>[]>(
  record({ mtls: optional(record({ mode })) }),
  record({
    selector: constantFrom({ matchLabels: { app: "web" } }, { matchLabels: { app: "ledger" } }),
    mtls: optional(record({ mode })),
    portLevelMtls: rare(
      some(fc.tuple(constantFrom("8080", "9000", "80"), mode), 2).map((pairs) =>
        Object.fromEntries(pairs.map(([port, each]) => [port, { mode: each }])),
      ),
    ),
  }),
);

const source = constantFrom<object>(
  { principals: ["cluster.local/ns/shop/sa/web"] },
  { principals: ["*"], notPrincipals: ["*/sa/eve"] },
  { namespaces: ["shop", "pay*"] },
  { notNamespaces: ["*-dev"] },
  { ipBlocks: ["10.0.0.0/8", "2001:db8::/32"] },
  { remoteIpBlocks: ["192.0.2.1"], notRemoteIpBlocks: ["192.0.2.0/30"] },
  { requestPrincipals: ["issuer/*"] },
  { notRequestPrincipals: ["*"] },
  { serviceAccounts: ["shop/web", "cart"] },
);
const operation = constantFrom<object>(
  { paths: ["/api/*", "*.png", "/exact", "*"] },
  { paths: ["/a/{*}/b", "/c/{**}"] },
  { notPaths: ["/admin*"] },
  { methods: ["GET", "P*"], ports: ["8080"] },
  { notMethods: ["DELETE"] },
  { hosts: ["app.example.com", "*.shop"], notHosts: ["x"] },
  { ports: ["9000"], notPorts: ["80"] },
);
const condition = constantFrom<object>(
  { key: "request.headers[x-user]", values: ["ann*", "*"] },
  { key: "request.headers[x-user]", notValues: ["eve"] },
  { key: "source.ip", values: ["10.0.0.0/8"] },
  { key: "remote.ip", notValues: ["10.0.0.1"] },
  { key: "source.namespace", values: ["shop"] },
  { key: "source.principal", values: ["cluster.local/ns/*"] },
  { key: "request.auth.principal", values: ["issuer/subject"] },
  { key: "request.auth.audiences", values: ["aud"] },
  { key: "request.auth.presenter", notValues: ["p"] },
  { key: "request.auth.claims[group]", values: ["admin", "ops*"] },
  { key: "request.auth.claims[a][b]", values: ["c"] },
  { key: "destination.ip", values: ["10.1.0.0/16"] },
  { key: "destination.port", values: ["8080"] },
  { key: "connection.sni", values: ["*.example.com"] },
  { key: "experimental.envoy.filters.network.mysql_proxy[db.table]", values: ["[drop]"] },
);
const rule = record({
  from: optional(
    some(
      source.map((each) => ({ source: each })),
      2,
    ),
  ),
  to: optional(
    some(
      operation.map((each) => ({ operation: each })),
      2,
    ),
  ),
  when: optional(some(condition, 2)),
}).map((each) => ((each.from ?? each.to ?? each.when) ? each : {}));
const authorizationPolicy = record({
  selector,
  action: optional(constantFrom("ALLOW", "DENY", "DENY", "AUDIT")),
  rules: optional(some(rule, 3)),
}).map((each) => (each.action === "DENY" || each.action === "AUDIT" ? { ...each, rules: each.rules ?? [{}] } : each));

/** A public key; nobody needs the private one. */
const jwks = JSON.stringify({
  keys: [
    {
      kty: "EC",
      crv: "P-256",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    },
  ],
});
const jwtRule = record({
  issuer: constantFrom("issuer", "other"),
  jwks: fc.constant(jwks),
  audiences: optional(constantFrom(["aud"], ["a", "b"])),
  fromHeaders: rare(constantFrom([{ name: "x-token", prefix: "T " }], [{ name: "Authorization", prefix: "Bearer " }])),
  fromParams: rare(constantFrom(["token"])),
  fromCookies: rare(constantFrom(["c"])),
  forwardOriginalToken: optional(fc.boolean()),
  outputPayloadToHeader: rare(constantFrom("x-payload")),
  outputClaimToHeaders: rare(constantFrom([{ header: "x-group", claim: "group" }])),
  spaceDelimitedClaims: rare(constantFrom(["roles"])),
});
const requestAuthentication = record({ selector, jwtRules: some(jwtRule, 2).map(unique((each) => each.issuer)) });

export const peerAuthentications = objects(security, "PeerAuthentication", peerAuthentication, 3);
export const authorizationPolicies = objects(security, "AuthorizationPolicy", authorizationPolicy, 4);
export const requestAuthentications = objects(security, "RequestAuthentication", requestAuthentication, 2);
