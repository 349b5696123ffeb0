import fc from "fast-check";
import { expect, it } from "vitest";
import { httpChain, httpFilterOf, listenerOf } from "../listeners/listener-parts.js";
import { podYaml, serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh } from "../mesh.js";
import { jwtRule, type RandomJwtRule } from "./random-jwt-rules.js";

const keySet = (byte: number): string =>
  JSON.stringify({ keys: [{ kty: "RSA", e: "AQAB", n: Buffer.alloc(256, byte).toString("base64url") }] });
const sources = {
  issuers: ["https://b.example.com", "a", "https://a.example.com", "c@example.com"],
  inline: [keySet(0xff), keySet(0xef)],
  uris: ["https://k.example.com/jwks"],
};

function filterOf(jwtRules: readonly RandomJwtRule[], type: "sidecar" | "router"): Json {
  const policy = {
    apiVersion: "security.istio.io/v1",
    kind: "RequestAuthentication",
    metadata: { name: "jwt", namespace: "shop" },
    spec: { jwtRules },
  };
  const gateway = {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: { name: "gate", namespace: "shop" },
    spec: {
      selector: { app: "web" },
      servers: [{ port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
    },
  };
  const objects = type === "router" ? [policy, gateway] : [policy];
  const mesh = new TestMesh(
    serviceYaml("web") + podYaml("web", "10.1.0.1") + objects.map((each) => `---\n${JSON.stringify(each)}\n`).join(""),
  );
  const proxy = mesh.proxy({ type, ip: "10.1.0.1", name: "web-10-1-0-1", labels: { app: "web" } });
  return httpFilterOf(
    httpChain(listenerOf(proxy, type === "router" ? "0.0.0.0_8080" : "virtualInbound")),
    "envoy.filters.http.jwt_authn",
  );
}

/** The provider of a rule; keys of URIs and issuers are not compared. */
function providerOf(rule: RandomJwtRule, clearRouteCache: boolean): object {
  const spaceDelimitedClaims = [...new Set([...(rule.spaceDelimitedClaims ?? []), "permission", "scope"])].sort();
  return {
    issuer: rule.issuer,
    ...(rule.audiences && { audiences: rule.audiences }),
    ...(rule.forwardOriginalToken === true && { forward: true }),
    ...(rule.fromHeaders && {
      fromHeaders: rule.fromHeaders.map(({ name, prefix }) => ({ name, ...(prefix && { valuePrefix: prefix }) })),
    }),
    ...(rule.fromParams && { fromParams: rule.fromParams }),
    ...(rule.fromCookies && { fromCookies: rule.fromCookies }),
    ...(rule.outputPayloadToHeader && { forwardPayloadHeader: rule.outputPayloadToHeader }),
    ...(rule.outputClaimToHeaders && {
      claimToHeaders: rule.outputClaimToHeaders.map(({ header, claim }) => ({ headerName: header, claimName: claim })),
    }),
    payloadInMetadata: "payload",
    normalizePayloadInMetadata: { spaceDelimitedClaims },
    ...(clearRouteCache && { clearRouteCache }),
    localJwks: { inlineString: rule.jwks ?? (expect.any(String) as unknown) },
  };
}

it("the JWT filter has one provider for each rule, by issuer, and accepts no token that all of them reject", () => {
  fc.assert(
    fc.property(
      fc.array(jwtRule(sources), { minLength: 1, maxLength: 4 }),
      fc.constantFrom("sidecar" as const, "router" as const),
      (rules, type) => {
        const { providers, rules: requirements, ...rest } = filterOf(rules, type);
        const sorted = rules.toSorted((a, b) => (a.issuer < b.issuer ? -1 : a.issuer > b.issuer ? 1 : 0));
        const names = sorted.map((_, at) => `origins-${at}`);
        expect(providers).toEqual(
          Object.fromEntries(names.map((name, at) => [name, providerOf(sorted[at]!, type === "router")])),
        );
        const optional = names.map((providerName) => ({
          requiresAny: { requirements: [{ providerName }, { allowMissing: {} }] },
        }));
        const several = {
          requiresAny: {
            requirements: [
              ...names.map((providerName) => ({ providerName })),
              { requiresAll: { requirements: optional } },
            ],
          },
        };
        expect(requirements).toEqual([
          { match: { prefix: "/" }, requires: names.length === 1 ? optional[0] : several },
        ]);
        expect(rest).toMatchObject({ bypassCorsPreflight: true });
      },
    ),
    { numRuns: Number(process.env["JWT_RULES_RUNS"] ?? 40) },
  );
}, 120_000);
