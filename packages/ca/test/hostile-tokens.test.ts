import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import fc from "fast-check";
import { exportJWK, type JWK } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { authenticate, CaError, type Credentials, signedTokens, staticTokens, type TokenKeySet } from "@istiod/ca";
import { FakeClock } from "@istiod/runtime/testing";

/** Number of tokens. CI runs a sample; `HOSTILE_CREDENTIALS=10000` runs as many. */
const numRuns = Number(process.env["HOSTILE_CREDENTIALS"] ?? 400);

const clock = new FakeClock(Date.UTC(2030, 0, 1));
const now = clock.now() / 1000;
const issuer = "https://issuer.example";
const good = { iss: issuer, aud: ["istio-ca"], sub: "system:serviceaccount:shop:cart", exp: now + 60 };
const CART = "spiffe://td/ns/shop/sa/cart";

const own = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const short = generateKeyPairSync("rsa", { modulusLength: 1024 });
const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });
let keys: TokenKeySet;
let fetches = 0;

beforeAll(async () => {
  const jwk = async (key: KeyObject, more: JWK): Promise<JWK> => ({ ...(await exportJWK(key)), ...more });
  const secret: JWK = { kty: "oct", kid: "secret", k: Buffer.from("secret-of-the-provider").toString("base64url") };
  keys = {
    keys: [
      await jwk(own.publicKey, { kid: "ec", alg: "ES256", use: "sig" }),
      await jwk(rsa.publicKey, { kid: "rsa" }),
      await jwk(short.publicKey, { kid: "short" }),
      await jwk(stranger.publicKey, { kid: "encryption", use: "enc" }),
      secret,
    ],
  };
});

const part = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

interface Parts {
  readonly header?: unknown;
  readonly claims?: unknown;
  readonly key?: KeyObject;
}

/** A token of any header and claims, objects or literal text, with a signature by ES256 or RS256. */
function token({ header = { alg: "ES256", kid: "ec" }, claims = good, key = own.privateKey }: Parts = {}): string {
  const content = `${part(header)}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(content), { key, dsaEncoding: "ieee-p1363" });
  return `${content}.${signature.toString("base64url")}`;
}

const bearer = (text: string): Credentials => ({
  encrypted: true,
  header: (name) => (name === "authorization" ? `Bearer ${text}` : undefined),
});

/** Resolves to the caller's identity, or to the reason why it has none. */
async function check(text: string, refresh = true): Promise<string> {
  const tokens = signedTokens({
    issuer,
    audiences: ["istio-ca", "other-ca"],
    keys: () => keys,
    ...(refresh && { refreshKeys: async () => void fetches++ }),
    trustDomain: "td",
    clock,
  });
  const caller = await tokens.authenticate(bearer(text)).catch((error: unknown) => error);
  if (caller === undefined) return "no token";
  if (!(caller instanceof Error)) return (caller as { identities: readonly string[] }).identities.join();
  expect(caller).toBeInstanceOf(CaError);
  expect((caller as CaError).code).toBe("unauthenticated");
  expect(caller.message.length).toBeLessThan(500);
  return caller.message;
}

describe("a token", () => {
  it("of the issuer authenticates its subject", async () => {
    expect(await check(token())).toBe(CART);
    expect(await check(token({ claims: { ...good, aud: "other-ca" } }))).toBe(CART);
    expect(await check(token({ header: { alg: "RS256", kid: "rsa" }, key: rsa.privateKey }))).toBe(CART);
    expect(await check(token({ header: { alg: "ES256" } }))).toBe(CART);
    expect(await check(token({ claims: { ...good, nbf: now + 299, iat: now + 299 } }))).toBe(CART);
  });

  // RFC 7519 §4: the last one counts, as in Go.
  it("with a claim twice authenticates the last one", async () => {
    const twice = JSON.stringify(good).replace('"sub"', '"sub":"system:serviceaccount:istio-system:istiod","sub"');
    expect(await check(token({ claims: twice }))).toBe(CART);
  });

  const hmac = (secret: string | Buffer, header: object): string => {
    const content = `${part(header)}.${part(good)}`;
    return `${content}.${createHmac("sha256", secret).update(content).digest("base64url")}`;
  };
  const pem = (key: KeyObject): string => String(key.export({ type: "spki", format: "pem" }));
  it.each<[string, () => string, RegExp]>([
    ["without a signature", () => `${part({ alg: "none" })}.${part(good)}.`, /algorithm "none" is not one of/],
    ["with none in capitals", () => `${part({ alg: "NoNe" })}.${part(good)}.`, /algorithm "NoNe" is not one of/],
    ["without an algorithm", () => token({ header: { kid: "ec" } }), /algorithm "undefined" is not one of/],
    ["with an algorithm that is a list", () => token({ header: { alg: ["ES256"] } }), /is not one of/],
    [
      "signed with the public key as a secret",
      () => hmac(pem(rsa.publicKey), { alg: "HS256", kid: "rsa" }),
      /"HS256" is not one of/,
    ],
    [
      "signed with the secret of the key set",
      () => hmac("secret-of-the-provider", { alg: "HS256", kid: "secret" }),
      /"HS256" is not one of/,
    ],
    ["with the ID of a secret", () => token({ header: { alg: "ES256", kid: "secret" } }), /no key of the issuer/],
    ["with an unknown key ID", () => token({ header: { alg: "ES256", kid: "x" } }), /no key of the issuer/],
    ["with a key ID that is an object", () => token({ header: { alg: "ES256", kid: {} } }), /no key of the issuer/],
    ["with the ID of another key", () => token({ header: { alg: "ES256", kid: "rsa" } }), /no key of the issuer/],
    ["of a stranger", () => token({ key: stranger.privateKey }), /no key of the issuer/],
    [
      "signed with a key for encryption",
      () => token({ header: { alg: "ES256", kid: "encryption" }, key: stranger.privateKey }),
      /no key of the issuer/,
    ],
    [
      "signed with a short key",
      () => token({ header: { alg: "RS256", kid: "short" }, key: short.privateKey }),
      /no key of the issuer/,
    ],
    [
      "with a key of its own",
      () => token({ header: { alg: "ES256", jwk: keys.keys[3] }, key: stranger.privateKey }),
      /no key of the issuer/,
    ],
    ["with an unknown critical field", () => token({ header: { alg: "ES256", crit: ["x"], x: 1 } }), /x/],
    ["with an unencoded payload", () => token({ header: { alg: "ES256", b64: false, crit: ["b64"] } }), /b64|token/i],
    ["for another audience", () => token({ claims: { ...good, aud: ["kubernetes"] } }), /"aud"/],
    ["with a part of the audience", () => token({ claims: { ...good, aud: "istio" } }), /"aud"/],
    ["with an audience within a list", () => token({ claims: { ...good, aud: [["istio-ca"]] } }), /"aud"/],
    ["without an audience", () => token({ claims: { ...good, aud: undefined } }), /"aud"/],
    ["of another issuer", () => token({ claims: { ...good, iss: `${issuer}/` } }), /"iss"/],
    ["of a list of issuers", () => token({ claims: { ...good, iss: [issuer] } }), /"iss"/],
    ["that has expired", () => token({ claims: { ...good, exp: now } }), /"exp"/],
    ["that expired within the leeway", () => token({ claims: { ...good, exp: now - 1 } }), /"exp"/],
    ["that expires as text", () => token({ claims: { ...good, exp: String(now + 60) } }), /"exp"/],
    ["that never expires", () => token({ claims: { ...good, exp: undefined } }), /"exp"/],
    ["that is not valid yet", () => token({ claims: { ...good, nbf: now + 301 } }), /"nbf"/],
    ["issued in the future", () => token({ claims: { ...good, iat: now + 301 } }), /"iat"/],
    ["of a user", () => token({ claims: { ...good, sub: "jane" } }), /subject "jane"/],
    ["of a list of subjects", () => token({ claims: { ...good, sub: [good.sub] } }), /subject ""/],
    ["of a path", () => token({ claims: { ...good, sub: `${good.sub}/../x` } }), /not valid in a SPIFFE identity/],
    ["whose claims are a list", () => token({ claims: [good] }), /iss|claims|token/i],
    ["whose claims are null", () => token({ claims: "null" }), /claims|token/i],
    ["nested deeply", () => token({ claims: `${"[".repeat(6000)}${"]".repeat(6000)}` }), /claims|token|iss/i],
    ["of five parts", () => `${token()}.a.b`, /token not accepted/],
    ["of two parts", () => token().split(".").slice(0, 2).join("."), /token not accepted/],
    ["of 16 KiB", () => `${token()}${"A".repeat(16_384)}`, /^token of \d+ characters, at most 16384 are accepted$/],
  ])("%s is rejected", async (_, make, reason) => expect(await check(make())).toMatch(reason));

  it("of another issuer costs no fetch, and a forged one at most one", async () => {
    const fetched = async (text: string): Promise<number> => {
      const before = fetches;
      await check(text);
      return fetches - before;
    };
    expect(await fetched(token())).toBe(0);
    expect(await fetched(token({ claims: { ...good, iss: "https://kubernetes" }, key: stranger.privateKey }))).toBe(0);
    expect(await fetched(token({ header: { alg: "none" } }))).toBe(0);
    expect(await fetched(token({ key: stranger.privateKey }))).toBe(1);
  });

  it("is not authenticated if a character of it is changed, removed or added", async () => {
    const valid = token();
    const changed = fc.tuple(
      fc.nat(valid.length - 1),
      fc.constantFrom("", "A", "b", "_", ".", "=", " ", "é"),
      fc.nat(1),
    );
    await fc.assert(
      fc.asyncProperty(changed, async ([at, text, removed]) => {
        const other = valid.slice(0, at) + text + valid.slice(at + removed);
        // The last character of a signature has bits that decode to nothing.
        if (other.trim() === valid || at === valid.length - 1) return;
        expect(await check(other)).not.toBe(CART);
      }),
      { numRuns },
    );
  });

  it("of arbitrary header and claims is authenticated only with those of the issuer", async () => {
    const value = fc.oneof(
      fc.constantFrom<unknown>(
        issuer,
        "istio-ca",
        ["istio-ca"],
        good.sub,
        now + 60,
        now - 60,
        null,
        "",
        "ES256",
        "none",
      ),
      fc.jsonValue({ maxDepth: 3 }),
    );
    const claims = fc.dictionary(fc.constantFrom("iss", "aud", "sub", "exp", "nbf", "iat", "__proto__"), value);
    const header = fc.dictionary(fc.constantFrom("alg", "kid", "typ", "crit", "b64", "jwk", "x5c", "jku"), value);
    await fc.assert(
      fc.asyncProperty(claims, header, fc.boolean(), fc.boolean(), async (some, fields, isOwn, isComplete) => {
        const all = isComplete ? { ...good, ...some } : some;
        const text = token({
          header: isComplete ? { alg: "ES256", kid: "ec", ...fields } : fields,
          claims: all,
          key: isOwn ? own.privateKey : stranger.privateKey,
        });
        const outcome = await check(text, false);
        if (!outcome.startsWith("spiffe://")) return;
        const { iss, aud, sub, exp, nbf = 0 } = all as Record<string, unknown>;
        expect([isOwn, iss, outcome, sub]).toEqual([true, issuer, CART, good.sub]);
        expect([aud].flat()).toContain("istio-ca");
        expect(exp).toBeGreaterThan(now);
        expect(nbf).toBeLessThanOrEqual(now + 300);
      }),
      { numRuns },
    );
  });

  it("of arbitrary text is rejected, with no other error, by all authenticators together", async () => {
    const fixed = staticTokens([
      ["token-0123456789abc", { trustDomain: "td", namespace: "shop", serviceAccount: "cart" }],
    ]);
    const signed = signedTokens({ issuer, audiences: ["istio-ca"], keys: () => keys, trustDomain: "td", clock });
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.tuple(fc.json(), fc.json(), fc.string()).map(([a, b, c]) => `${part(a)}.${part(b)}.${c}`),
      fc.tuple(fc.nat(3000), fc.constantFrom("[", '{"a":', "a.", ".", "A")).map(([n, s]) => part(s.repeat(n))),
      fc.nat(20_000).map((length) => "a".repeat(length)),
    );
    await fc.assert(
      fc.asyncProperty(text, async (each) => {
        await expect(authenticate([signed, fixed], bearer(each))).rejects.toMatchObject({
          name: "CaError",
          code: "unauthenticated",
        });
      }),
      { numRuns },
    );
  });
});
