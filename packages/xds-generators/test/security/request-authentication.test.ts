import { createHash, createPublicKey } from "node:crypto";
import { sourceKey } from "@istiod/jwks";
import {
  fetchedJwks,
  jwksFetches,
  jwksProblems,
  jwksToFetch,
  unverifiableJwks,
  unverifiableJwksSeed,
} from "@istiod/push-context";
import { describe, expect, it } from "vitest";
import { jwtFilters } from "../../src/security/jwt-filters.js";
import { httpChain, httpFilterNames, httpFilterOf, listenerOf } from "../listeners/listener-parts.js";
import { podYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh } from "../mesh.js";

const jwtFilter = "envoy.filters.http.jwt_authn";
const web = serviceYaml("web", { ports: ["http:80:8080"] }) + podYaml("web", "10.1.0.1");
const self = { ip: "10.1.0.1", name: "web-10-1-0-1", labels: { app: "web" } };
const keys = JSON.stringify({ keys: [{ kty: "RSA", e: "AQAB", n: Buffer.alloc(256, 0xff).toString("base64url") }] });

const authentication = (jwtRules: readonly object[], spec: object = {}): string =>
  `---\n${JSON.stringify({ apiVersion: "security.istio.io/v1", kind: "RequestAuthentication", metadata: { name: "jwt", namespace: "shop" }, spec: { jwtRules, ...spec } })}\n`;
const chainOf = (mesh: TestMesh): Json => httpChain(listenerOf(mesh.proxy(self), "virtualInbound"));
const filterOf = (mesh: TestMesh): Json => httpFilterOf(chainOf(mesh), jwtFilter);

describe("tokens", () => {
  it("are not verified without a RequestAuthentication for the workload", () => {
    const mesh = new TestMesh(
      web + authentication([{ issuer: "a", jwks: keys }], { selector: { matchLabels: { app: "db" } } }),
    );
    expect(httpFilterNames(chainOf(mesh))).not.toContain(jwtFilter);
  });

  it("are optional but must be valid", () => {
    const rule = {
      issuer: "https://a",
      jwks: keys,
      audiences: ["shop"],
      fromHeaders: [{ name: "x-token", prefix: "Bearer " }],
      outputPayloadToHeader: "x-payload",
      outputClaimToHeaders: [{ header: "x-sub", claim: "sub" }],
    };
    const filter = filterOf(new TestMesh(web + authentication([rule])));
    expect(filter.providers["origins-0"]).toMatchObject({
      issuer: "https://a",
      audiences: ["shop"],
      localJwks: { inlineString: keys },
      payloadInMetadata: "payload",
      normalizePayloadInMetadata: { spaceDelimitedClaims: ["permission", "scope"] },
      fromHeaders: [{ name: "x-token", valuePrefix: "Bearer " }],
      forwardPayloadHeader: "x-payload",
      claimToHeaders: [{ headerName: "x-sub", claimName: "sub" }],
    });
    expect(filter.rules[0].requires.requiresAny.requirements).toEqual([
      { providerName: "origins-0" },
      { allowMissing: {} },
    ]);
  });

  it("are required by rules that say so, whatever other tokens there are", () => {
    const requires = (...rules: readonly object[]): Json =>
      filterOf(new TestMesh(web + authentication(rules.map((rule) => ({ jwks: keys, ...rule }))))).rules[0].requires;
    const required = { presence: "REQUIRED" };
    expect(requires({ issuer: "a", ...required })).toEqual({ providerName: "origins-0" });
    expect(requires({ issuer: "a", ...required }, { issuer: "b", ...required })).toEqual({
      requiresAll: { requirements: [{ providerName: "origins-0" }, { providerName: "origins-1" }] },
    });
    expect(requires({ issuer: "a", ...required }, { issuer: "b", presence: "OPTIONAL" })).toEqual({
      requiresAll: {
        requirements: [
          { providerName: "origins-0" },
          { requiresAny: { requirements: [{ providerName: "origins-1" }, { allowMissing: {} }] } },
        ],
      },
    });
  });

  it("of several issuers are accepted if one is valid", () => {
    const filter = filterOf(
      new TestMesh(
        web +
          authentication([
            { issuer: "b", jwks: keys },
            { issuer: "a", jwks: keys },
          ]),
      ),
    );
    expect([filter.providers["origins-0"].issuer, filter.providers["origins-1"].issuer]).toEqual(["a", "b"]);
    const { requirements } = filter.rules[0].requires.requiresAny;
    expect(requirements.slice(0, 2)).toEqual([{ providerName: "origins-0" }, { providerName: "origins-1" }]);
    expect(requirements[2].requiresAll.requirements).toHaveLength(2);
  });
});

it("the keys that verify nothing are a point that was found by hashing, so that nobody has the private key", () => {
  const [{ x, y, ...others }] = JSON.parse(unverifiableJwks).keys;
  expect(others).toEqual({ kty: "EC", crv: "P-256", alg: "ES256" });
  expect(x).toBe(createHash("sha256").update(`${unverifiableJwksSeed} 0`).digest("base64url"));
  expect(createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" }).asymmetricKeyType).toBe("ec");
});

describe("key sets by URI", () => {
  const source = { issuer: "https://a", jwksUri: "https://keys.example.com/jwks" };
  const rule = authentication([source]);
  const inlineOf = (mesh: TestMesh): unknown => filterOf(mesh).providers["origins-0"].localJwks?.inlineString;
  const unavailableIn = (mesh: TestMesh): readonly string[] =>
    mesh
      .proxy(self)
      .view.call(jwksProblems, "shop/jwt")
      .map(({ index, rule: { issuer } }) => `${index} ${issuer}`);
  const unavailable = "0 https://a";

  it("are requested from outside, and no token is valid until they are available", () => {
    const mesh = new TestMesh(web + rule);
    expect(mesh.proxy(self).view.call(jwksToFetch)).toEqual([
      { issuer: "", jwksUri: source.jwksUri, timeoutMs: 5000, owners: ["shop"] },
    ]);
    expect([inlineOf(mesh), unavailableIn(mesh)]).toEqual([unverifiableJwks, [unavailable]]);
    mesh.db.commit((tx) => tx.set(fetchedJwks, sourceKey(source), keys));
    expect([inlineOf(mesh), unavailableIn(mesh)]).toEqual([keys, []]);
  });

  it.each(["", "not JSON", '{"keys":[]}'])("count as not fetched if Envoy would reject them: %j", (fetched) => {
    const mesh = new TestMesh(web + rule);
    mesh.db.commit((tx) => tx.set(fetchedJwks, sourceKey(source), fetched));
    expect([inlineOf(mesh), unavailableIn(mesh)]).toEqual([unverifiableJwks, [unavailable]]);
  });

  it("are shared by the rules with a URI, with the longest timeout, and by those of an issuer without one", () => {
    const rules = [
      { issuer: "b", jwksUri: "https://k/1" },
      { issuer: "c", jwksUri: "https://k/1", timeout: "20s" },
      { issuer: "d", jwksUri: "https://k/1", timeout: "1s" },
      { issuer: "https://e" },
      { issuer: "https://e", audiences: ["x"] },
      { issuer: "f", jwks: keys },
    ];
    const mesh = new TestMesh(web + authentication(rules));
    expect(mesh.proxy(self).view.call(jwksToFetch)).toEqual([
      { issuer: "https://e", jwksUri: "", timeoutMs: 5000, owners: ["shop"] },
      { issuer: "", jwksUri: "https://k/1", timeoutMs: 20_000, owners: ["shop"] },
    ]);
    mesh.db.commit((tx) => tx.set(fetchedJwks, sourceKey({ issuer: "", jwksUri: "https://k/1" }), keys));
    const { providers } = filterOf(mesh);
    expect([0, 1, 2].map((i) => providers[`origins-${i}`].localJwks.inlineString)).toEqual([keys, keys, keys]);
  });

  it("do not change what a proxy has when only the state of the fetch changes", () => {
    const mesh = new TestMesh(web + rule);
    mesh.db.commit((tx) => tx.set(fetchedJwks, sourceKey(source), keys));
    const before = mesh.proxy(self).view.call(jwtFilters);
    const fetch = { state: "stale", reason: "down", fetchedAt: "2026-01-01T00:00:00Z" } as const;
    mesh.db.commit((tx) => tx.set(jwksFetches, sourceKey(source), fetch));
    expect(mesh.proxy(self).view.call(jwtFilters)).toBe(before);
    expect(mesh.proxy(self).view.call(jwksProblems, "shop/jwt")).toMatchObject([{ isMissing: false, fetch }]);
  });

  it("verify nothing if only the issuer is configured", () => {
    const mesh = new TestMesh(web + authentication([{ issuer: "b", jwks: keys }, { issuer: "https://a" }]));
    expect(mesh.proxy(self).view.call(jwksToFetch)).toEqual([
      { issuer: "https://a", jwksUri: "", timeoutMs: 5000, owners: ["shop"] },
    ]);
    expect(filterOf(mesh).providers["origins-1"]).toMatchObject({
      issuer: "https://a",
      localJwks: { inlineString: unverifiableJwks },
    });
    expect(unavailableIn(mesh)).toEqual(["1 https://a"]);
  });

  it("are fetched by the proxy in hybrid mode if the host is a service", () => {
    const mesh = new TestMesh(web + rule).set("PILOT_JWT_ENABLE_REMOTE_JWKS", "hybrid");
    expect([inlineOf(mesh), unavailableIn(mesh)]).toEqual([unverifiableJwks, [unavailable]]);
    mesh.apply(
      serviceEntry("keys", {
        hosts: ["keys.example.com"],
        resolution: "DNS",
        location: "MESH_EXTERNAL",
        ports: [{ number: 443, name: "tls", protocol: "TLS" }],
      }),
    );
    expect(filterOf(mesh).providers["origins-0"].remoteJwks).toMatchObject({
      httpUri: { uri: source.jwksUri, cluster: "outbound|443||keys.example.com", timeout: "5s" },
      cacheDuration: "300s",
    });
    expect([mesh.proxy(self).view.call(jwksToFetch), unavailableIn(mesh)]).toEqual([[], []]);
  });

  it("are always fetched by the proxy in envoy mode", () => {
    const mesh = new TestMesh(web + rule).set("PILOT_JWT_ENABLE_REMOTE_JWKS", "envoy");
    expect(filterOf(mesh).providers["origins-0"].remoteJwks.httpUri.cluster).toBe("outbound|443||keys.example.com");
    expect(unavailableIn(mesh)).toEqual([]);
  });
});
