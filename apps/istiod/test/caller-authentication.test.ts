import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTokenKey, issueToken } from "@istiod/ca";
import { OidcProvider } from "@istiod/jwks/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { authenticationSettings, unusedAuthentication } from "../src/authentication/authentication-settings.js";
import {
  bearer,
  certificate,
  failure,
  type Headers,
  istiodWithCa as istiod,
  logOf as reasons,
  stream,
  unauthenticated,
} from "./callers.js";
import { until } from "./remote-mesh.js";
import { folder, serve } from "./serving.js";

const hour = 3_600_000;
const WEB = "URI:spiffe://cluster.local/ns/shop/sa/web";

const inAnHour = (): number => Math.floor(Date.now() / 1000) + 3600;
const claims = () => ({ aud: ["istio-ca"], sub: "system:serviceaccount:shop:web", exp: inAnHour() });

async function provider(): Promise<OidcProvider> {
  const started = await OidcProvider.start();
  onTestFinished(() => started.close());
  return started;
}

describe("JWT_RULE", () => {
  test("authenticates streams and requests by tokens of the issuer, whose keys are discovered", async () => {
    const oidc = await provider();
    const server = await istiod({}, { JWT_RULE: JSON.stringify({ issuer: oidc.issuer, audiences: ["istio-ca"] }) });
    const headers = bearer(oidc.token(claims()));
    expect(await stream(server, headers)).toBe("accepted");
    expect(await certificate(server, headers)).toBe(WEB);
    expect(await stream(server, headers, "bank")).toMatch(/^authorization failed: .* claims namespace bank/);
    for (const wrong of [
      { aud: ["kubernetes"] },
      { exp: inAnHour() - 3601 },
      { iss: "https://other.example" },
      { sub: "jane" },
      { nbf: inAnHour() },
    ]) {
      const rejected = bearer(oidc.token({ ...claims(), ...wrong }));
      expect([await stream(server, rejected), await certificate(server, rejected)]).toEqual([failure, unauthenticated]);
    }
    // The key set has no key of another provider.
    const stranger = await provider();
    expect(await stream(server, bearer(stranger.token({ ...claims(), iss: oidc.issuer })))).toBe(failure);
    expect(reasons(server)).toContain("OIDC token of JWT_RULE: token not accepted: no key of the issuer verifies");
  }, 120_000);

  test("takes inline keys, and keys from a URI", async () => {
    const oidc = await provider();
    const rule = { issuer: "foo", audiences: ["istio-ca"] };
    const headers = bearer(oidc.token({ ...claims(), iss: "foo" }));
    for (const keys of [{ jwks: oidc.jwks }, { jwks_uri: oidc.jwksUri }]) {
      const server = await istiod({}, { JWT_RULE: JSON.stringify({ ...rule, ...keys }) });
      expect(await stream(server, headers)).toBe("accepted");
    }
    expect(oidc.requests.get("/jwks")).toBe(1);
  }, 120_000);

  test("rejects every token until the provider has keys, and keeps the last ones while it is down", async () => {
    const oidc = await provider();
    oidc.answer("/jwks", (_, response) => void response.writeHead(503).end());
    const rule = { issuer: "foo", audiences: ["istio-ca"], jwksUri: oidc.jwksUri };
    const server = await istiod({}, { JWT_RULE: JSON.stringify(rule), PILOT_JWT_PUB_KEY_REFRESH_INTERVAL: "1s" });
    const headers = () => bearer(oidc.token({ ...claims(), iss: "foo" }));
    expect(await stream(server, headers())).toBe(failure);
    expect(reasons(server)).toContain("failed to fetch JWKS, its tokens are rejected");
    oidc.answer("/jwks");
    await expect.poll(() => stream(server, headers()), until).toBe("accepted");
    const kept = headers();
    oidc.answer("/jwks", (_, response) => void response.end("not a key set"));
    await expect.poll(() => reasons(server), until).toContain("failed to fetch JWKS, keeping the last keys");
    expect(await stream(server, kept)).toBe("accepted");
    oidc.rotate();
    oidc.answer("/jwks");
    await expect.poll(() => stream(server, headers()), until).toBe("accepted");
    expect(await stream(server, kept)).toBe(failure);
  }, 180_000);

  test("fetches no keys from blocked addresses", async () => {
    const oidc = await provider();
    const rule = { issuer: oidc.issuer, audiences: ["istio-ca"] };
    const env = { JWT_RULE: JSON.stringify(rule), BLOCKED_CIDRS_IN_JWKS_URIS: "127.0.0.0/8" };
    const server = await istiod({}, env);
    expect(await stream(server, bearer(oidc.token(claims())))).toBe(failure);
    expect(oidc.requestCount()).toBe(0);
  }, 120_000);
});

describe("settings of authentication that are not valid end istiod", () => {
  test.each<[NodeJS.ProcessEnv, string]>([
    [{ JWT_RULE: "invalid" }, "JWT_RULE: expected a JWTRule in JSON"],
    [{ JWT_RULE: '{"issuer": "https://a"}' }, "JWT_RULE: audiences: at least one is required"],
    [{ TOKEN_ISSUER: "https://a" }, "AUDIENCE: is required with TOKEN_ISSUER"],
    [{ TOKEN_ISSUER: "a", AUDIENCE: "b" }, 'TOKEN_ISSUER: issuer: "a" is not a URL'],
    [{ TRUSTED_GATEWAY_CIDR: "10.0.0.0/8,10.0.0.1" }, 'TRUSTED_GATEWAY_CIDR: "10.0.0.1" is not a range of addresses'],
    [{ CA_TRUSTED_NODE_ACCOUNTS: "ztunnel" }, 'CA_TRUSTED_NODE_ACCOUNTS: "ztunnel" is not a service account'],
  ])("%o", async (env, message) => {
    await expect(istiod({}, env)).rejects.toThrow(message);
  });

  test("--tokenKeyFile", async () => {
    const root = await folder({ "junk.pub": "junk" });
    await expect(istiod({ tokenKeyFile: join(root, "none") })).rejects.toThrow(
      /^--tokenKeyFile: .*none cannot be read/,
    );
    await expect(istiod({ tokenKeyFile: join(root, "junk.pub") })).rejects.toThrow(/^--tokenKeyFile: .*junk.pub: /);
  });
});

test("TOKEN_ISSUER authenticates requests for certificates only, and not in a Pod", async () => {
  const oidc = await provider();
  const env = { TOKEN_ISSUER: oidc.issuer, AUDIENCE: "istio-ca" };
  const server = await istiod({}, env);
  const headers = bearer(oidc.token(claims()));
  expect([await certificate(server, headers), await stream(server, headers)]).toEqual([WEB, failure]);
  const inPod = { ...env, KUBERNETES_SERVICE_HOST: "10.0.0.1" };
  expect(authenticationSettings(inPod).tokenIssuer).toBeUndefined();
  expect([env, inPod, { AUDIENCE: "a" }].map(unusedAuthentication)).toEqual([
    [],
    ["TOKEN_ISSUER is ignored: in a cluster, the API server reviews tokens"],
    ["AUDIENCE is ignored without TOKEN_ISSUER"],
  ]);
}, 120_000);

describe("TRUSTED_GATEWAY_CIDR", () => {
  const forwarded = (uri: string): Headers => ({
    "x-forwarded-client-cert": `By=spiffe://cluster.local/ns/edge/sa/gw;URI=${uri}`,
  });
  const web = forwarded("spiffe://cluster.local/ns/shop/sa/web");

  test("lets a gateway forward the certificates of its clients", async () => {
    // Tests connect over loopback, which is trusted as well.
    const server = await istiod({}, { TRUSTED_GATEWAY_CIDR: "192.0.2.0/24" });
    expect([await stream(server, web), await certificate(server, web)]).toEqual(["accepted", WEB]);
    expect(await stream(server, web, "bank")).toMatch(/^authorization failed: /);
    for (const header of [
      forwarded("spiffe://other/ns/shop/sa/web"),
      forwarded("spiffe://cluster.local/ns/shop/sa/web,URI=spiffe://cluster.local/ns/bank/sa/vault"),
      { "x-forwarded-client-cert": "junk" },
      {},
    ])
      expect([await stream(server, header), await certificate(server, header)]).toEqual([failure, unauthenticated]);
  }, 120_000);

  test("is off by default", async () => {
    const server = await istiod();
    expect([await stream(server, web), await certificate(server, web)]).toEqual([failure, unauthenticated]);
  }, 120_000);
});

test("an istiod without a certificate authority authenticates callers in plaintext by --tokenKeyFile", async () => {
  const key = join(await folder({}), "token.key");
  const tokenKeyFile = await createTokenKey(key);
  const configDir = await folder({ "none.yaml": "" });
  const server = await serve({ configDir, secureGRPCAddr: "", tokenKeyFile }, { XDS_AUTH_PLAINTEXT: "true" });
  const claimed = { namespace: "shop", serviceAccount: "web", audiences: ["istio-ca"], lifetime: hour };
  const headers = bearer(await issueToken(key, claimed, Date.now()));
  expect(await stream(server, headers, "shop", "grpcAddr")).toBe("accepted");
  expect(await stream(server, headers, "bank", "grpcAddr")).toMatch(/^authorization failed: /);
  expect(await stream(server, {}, "shop", "grpcAddr")).toBe(failure);
}, 120_000);

test("--tokenKeyFile accepts the tokens of its key, until it is replaced", async () => {
  const key = join(await folder({}), "token.key");
  const tokenKeyFile = await createTokenKey(key);
  const server = await istiod({ tokenKeyFile });
  const issue = (more = {}, now = Date.now()) =>
    issueToken(
      key,
      { namespace: "shop", serviceAccount: "web", audiences: ["istio-ca"], lifetime: hour, ...more },
      now,
    );
  const headers = bearer(await issue());
  expect([await stream(server, headers), await certificate(server, headers)]).toEqual(["accepted", WEB]);
  expect(await stream(server, headers, "bank")).toMatch(/^authorization failed: /);
  expect(await stream(server, bearer(await issue({ namespace: "bank" })))).toMatch(/^authorization failed: /);
  for (const token of [await issue({ audiences: ["other"] }), await issue({}, Date.now() - hour), "", "x"])
    expect(await certificate(server, bearer(token))).toBe(unauthenticated);
  const other = join(await folder({}), "token.key");
  await writeFile(tokenKeyFile, await readFile(await createTokenKey(other)));
  await expect.poll(() => certificate(server, headers), until).toBe(unauthenticated);
  expect(reasons(server)).not.toContain("private key");
  expect(reasons(await istiod({ tokenKeyFile: key }))).toContain("holds a private key; the public part is enough");
}, 120_000);
