import { mkdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { exportJWK, exportSPKI, generateKeyPair, type JSONWebKeySet, SignJWT } from "jose";
import { beforeAll, describe, expect, it, vi } from "vitest";
import {
  authenticate,
  CaError,
  type Credentials,
  identityOfSubject,
  parseSpiffeUri,
  readTokenKeys,
  signedTokens,
  spiffeUri,
  staticTokens,
  tokenDirectory,
} from "@istiod/ca";
import { FakeClock } from "@istiod/runtime/testing";
import { TokenFileDigests } from "../src/identity/token-file-digests.js";
import { readToken, tokenDigest } from "../src/identity/token-files.js";
import { scratch } from "./openssl.js";

const bearer = (token: string): Credentials => ({
  encrypted: true,
  peer: "10.0.0.1:1",
  header: (name) => (name === "authorization" ? `Bearer ${token}` : undefined),
});
const nobody: Credentials = { encrypted: true, header: () => undefined };

describe("SPIFFE identities", () => {
  it("have Istio's form", () => {
    expect(spiffeUri({ trustDomain: "me@corp", namespace: "shop", serviceAccount: "cart.v1" })).toBe(
      "spiffe://me.corp/ns/shop/sa/cart.v1",
    );
    expect(parseSpiffeUri("spiffe://td/ns/shop/sa/cart")).toEqual({
      trustDomain: "td",
      namespace: "shop",
      serviceAccount: "cart",
    });
    expect(identityOfSubject("system:serviceaccount:shop:cart", "td")).toEqual({
      trustDomain: "td",
      namespace: "shop",
      serviceAccount: "cart",
    });
  });

  it("round-trip, and no part can be mistaken for another", () => {
    const part = fc.string({
      unit: fc.constantFrom("a", "9", "-", ".", "/", ":", "%", "@", "A", "\n", ","),
      maxLength: 8,
    });
    fc.assert(
      fc.property(part, part, part, (trustDomain, namespace, serviceAccount) => {
        let uri: string;
        try {
          uri = spiffeUri({ trustDomain, namespace, serviceAccount });
        } catch (error) {
          expect(error).toMatchObject({ name: "CaError", code: "identity" });
          return;
        }
        expect(parseSpiffeUri(uri)).toEqual({
          trustDomain: trustDomain.replaceAll("@", "."),
          namespace,
          serviceAccount,
        });
        expect(uri.split("/")).toHaveLength(7);
      }),
      { numRuns: 2000 },
    );
  });

  it("are rejected in any other form", () => {
    for (const text of [
      "",
      "spiffe://td",
      "spiffe://td/ns/a/sa/b/c",
      "https://td/ns/a/sa/b",
      "spiffe:///ns/a/sa/b",
      "spiffe://td/ns//sa/b",
    ]) {
      expect(() => parseSpiffeUri(text)).toThrow(CaError);
    }
    for (const subject of [
      "",
      "cart",
      "system:serviceaccount:shop",
      "system:serviceaccount:shop:cart:x",
      "system:serviceaccount:shop:cart/sa/admin",
    ]) {
      expect(() => identityOfSubject(subject, "td")).toThrow(CaError);
    }
  });
});

describe("signedTokens", () => {
  let keys: Awaited<ReturnType<typeof generateKeyPair>>;
  let jwks: JSONWebKeySet;
  const clock = new FakeClock(Date.UTC(2030, 0, 1));
  const seconds = clock.now() / 1000;
  beforeAll(async () => {
    keys = await generateKeyPair("RS256");
    jwks = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: "k1" }] };
  });
  const make = (
    claims: Record<string, unknown> = {},
    key: Parameters<SignJWT["sign"]>[0] = keys.privateKey,
    alg = "RS256",
  ): Promise<string> => {
    const all = {
      iss: "https://issuer",
      aud: ["istio-ca"],
      sub: "system:serviceaccount:shop:cart",
      exp: seconds + 60,
      ...claims,
    };
    return new SignJWT(all).setProtectedHeader({ alg, kid: "k1" }).sign(key);
  };
  const check = (token: string) =>
    signedTokens({
      issuer: "https://issuer",
      audiences: ["istio-ca"],
      keys: () => jwks,
      trustDomain: "td",
      clock,
    }).authenticate(bearer(token));

  it("authenticates the token's subject", async () => {
    expect(await check(await make())).toMatchObject({
      identities: ["spiffe://td/ns/shop/sa/cart"],
      by: "signed token",
    });
    expect(
      await signedTokens({ issuer: "i", audiences: ["a"], keys: () => jwks, trustDomain: "td" }).authenticate(nobody),
    ).toBeUndefined();
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ["for another audience", { aud: ["kubernetes"] }, /aud/],
    ["of another issuer", { iss: "https://other" }, /iss/],
    ["that has expired", { exp: seconds - 1 }, /exp/],
    ["that is not valid for five minutes yet", { nbf: seconds + 301 }, /nbf/],
    ["issued in the future", { iat: seconds + 301 }, /iat/],
    ["that never expires", { exp: undefined }, /exp/],
    ["of a user", { sub: "jane" }, /subject "jane" is not of the form/],
    [
      "whose name would change the path",
      { sub: "system:serviceaccount:shop:a/sa/b" },
      /not valid in a SPIFFE identity/,
    ],
  ])("%s is refused", async (_, claims, words) => {
    await expect(check(await make(claims))).rejects.toMatchObject({
      code: "unauthenticated",
      message: expect.stringMatching(words),
    });
  });

  it("rejects other signatures: another key, none, and the public key as a shared secret", async () => {
    const other = await generateKeyPair("RS256");
    await expect(check(await make({}, other.privateKey))).rejects.toMatchObject({ code: "unauthenticated" });
    const [, payload] = (await make()).split(".");
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
    await expect(check(none)).rejects.toMatchObject({ code: "unauthenticated" });
    const secret = new TextEncoder().encode(await exportSPKI(keys.publicKey));
    await expect(check(await make({}, secret, "HS256"))).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("rejects arbitrary text with no other error", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        const outcome = await check(`a.${text}`).catch((error: unknown) => error);
        expect(outcome).toMatchObject({ name: "CaError", code: "unauthenticated" });
      }),
      { numRuns: 100 },
    );
  });

  it("uses keys from a file, as a key set or as PEM", async () => {
    const directory = await scratch();
    await writeFile(join(directory, "jwks.json"), JSON.stringify(jwks));
    const another = await generateKeyPair("RS256");
    await writeFile(
      join(directory, "keys.pem"),
      (await exportSPKI(another.publicKey)) + (await exportSPKI(keys.publicKey)),
    );
    await writeFile(join(directory, "bad"), '{"keys": 1}');
    for (const name of ["jwks.json", "keys.pem"]) {
      const set = await readTokenKeys(join(directory, name));
      const caller = await signedTokens({
        issuer: "https://issuer",
        audiences: ["istio-ca"],
        keys: () => set,
        trustDomain: "td",
        clock,
      }).authenticate(bearer(await make()));
      expect(caller?.identities).toEqual(["spiffe://td/ns/shop/sa/cart"]);
    }
    await expect(readTokenKeys(join(directory, "bad"))).rejects.toMatchObject({ code: "malformed" });
    await expect(readTokenKeys(join(directory, "none"))).rejects.toMatchObject({ code: "store" });
  });
});

describe("staticTokens", () => {
  it("authenticates the token's identity", async () => {
    const tokens = staticTokens([
      ["0123456789abcdef", { trustDomain: "td", namespace: "shop", serviceAccount: "cart" }],
    ]);
    expect(await tokens.authenticate(bearer("0123456789abcdef"))).toMatchObject({
      identities: ["spiffe://td/ns/shop/sa/cart"],
    });
    await expect(tokens.authenticate(bearer("0123456789abcdeg"))).rejects.toMatchObject({ code: "unauthenticated" });
    expect(await tokens.authenticate(nobody)).toBeUndefined();
  });

  it("rejects tokens that are short enough to be guessed", () => {
    expect(() => staticTokens([["short", { trustDomain: "td", namespace: "a", serviceAccount: "b" }]])).toThrow(
      /shorter than 16/,
    );
  });
});

describe("tokenDirectory", () => {
  it("applies changes of its files", async () => {
    const directory = await scratch();
    const clock = new FakeClock();
    const tokens = tokenDirectory({ directory, trustDomain: "td", clock });
    await mkdir(join(directory, "shop"));
    await writeFile(join(directory, "shop", "cart"), "cart-0123456789abcdef\n");
    await writeFile(join(directory, "shop", "empty"), "");
    expect(await tokens.authenticate(bearer("cart-0123456789abcdef"))).toMatchObject({
      identities: ["spiffe://td/ns/shop/sa/cart"],
    });
    await writeFile(join(directory, "shop", "web"), "web-0123456789abcdef");
    await expect(tokens.authenticate(bearer("web-0123456789abcdef"))).rejects.toThrow();
    clock.advance(1000);
    expect(await tokens.authenticate(bearer("web-0123456789abcdef"))).toMatchObject({
      identities: ["spiffe://td/ns/shop/sa/web"],
    });
    await rm(join(directory, "shop", "cart"));
    await expect(tokens.authenticate(bearer("cart-0123456789abcdef"))).rejects.toMatchObject({
      code: "unauthenticated",
    });
    expect(await tokens.authenticate(bearer(""))).toBeUndefined();
  });

  it("rejects a token at once that its file held before, whatever the times of the file are", async () => {
    const directory = await scratch();
    const path = join(directory, "shop", "cart");
    await mkdir(join(directory, "shop"));
    const clock = new FakeClock(Date.now() + 60_000);
    const tokens = tokenDirectory({ directory, trustDomain: "td", clock });
    const times = new Date(1_700_000_000_000);
    const write = async (token: string): Promise<void> => {
      await writeFile(path, token);
      await utimes(path, times, times);
    };
    const [first, second] = ["cart-0123456789abcdef", "cart-fedcba9876543210"];
    await write(first);
    for (let call = 0; call < 2; call++) expect(await tokens.authenticate(bearer(first))).toBeDefined();
    // Timestamps have a granularity of some milliseconds.
    const { ctimeMs } = await stat(path);
    await vi.waitFor(async () => {
      await write(second);
      expect((await stat(path)).ctimeMs).toBeGreaterThan(ctimeMs);
    });
    await expect(tokens.authenticate(bearer(first))).rejects.toMatchObject({ code: "unauthenticated" });
    clock.advance(1000);
    expect(await tokens.authenticate(bearer(second))).toBeDefined();
    await writeFile(`${path}.next`, first);
    await rename(`${path}.next`, path);
    await expect(tokens.authenticate(bearer(second))).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("reads a file again only if it has changed, or has changed so recently that its times may not tell", async () => {
    const path = join(await scratch(), "cart");
    const file = { path, uri: "spiffe://td/ns/shop/sa/cart" };
    await writeFile(path, "cart-0123456789abcdef");
    const { ctimeMs } = await stat(path);
    const clock = new FakeClock(ctimeMs + 1999);
    let reads = 0;
    const digests = new TokenFileDigests(clock, async (from) => (reads++, readToken(from)));
    const digest = tokenDigest("cart-0123456789abcdef");
    const readsOf = async (calls: number): Promise<number> => {
      reads = 0;
      for (let call = 0; call < calls; call++) expect(await digests.of(file)).toEqual(digest);
      return reads;
    };
    expect(await readsOf(3)).toBe(3);
    clock.advance(1);
    expect(await readsOf(3)).toBe(1);
    await rm(path);
    await expect(digests.of(file)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("reports each unusable file by name, without its content, and accepts the others", async () => {
    const directory = await scratch();
    const clock = new FakeClock();
    const reported: string[] = [];
    const tokens = tokenDirectory({
      directory,
      trustDomain: "td",
      clock,
      onUnusable: ({ path, reason }) => reported.push(`${path.replace(directory, "DIR")} ${reason}`),
    });
    await mkdir(join(directory, "shop", "folder"), { recursive: true });
    const files = {
      cart: "cart-0123456789abcdef",
      short: "hunter2",
      empty: "\n",
      "two-lines": "0123456789abcdef\nhunter2",
      Wrong_Name: "wrong-0123456789abcdef",
      web: "cart-0123456789abcdef",
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, "shop", name), text);
    await writeFile(join(directory, "cart"), "cart-0123456789abcdef");
    await tokens.check();
    expect(reported).toEqual([
      "DIR/cart is not in the directory of a namespace, expected NAMESPACE/SERVICEACCOUNT",
      'DIR/shop/Wrong_Name service account "Wrong_Name" is not valid in a SPIFFE identity',
      "DIR/shop/empty is empty, expected a token of at least 16 characters",
      "DIR/shop/folder is a directory, expected NAMESPACE/SERVICEACCOUNT",
      "DIR/shop/short holds a token of 7 characters, expected at least 16",
      "DIR/shop/two-lines holds a token with spaces, line breaks or characters that are not ASCII, which no header can carry",
      `DIR/shop/web holds the same token as ${directory}/shop/cart, which takes precedence`,
    ]);
    expect(await tokens.authenticate(bearer("cart-0123456789abcdef"))).toMatchObject({
      identities: ["spiffe://td/ns/shop/sa/cart"],
    });
    await expect(tokens.authenticate(bearer("hunter2"))).rejects.toMatchObject({ code: "unauthenticated" });

    reported.length = 0;
    await writeFile(join(directory, "shop", "short"), "hunter22");
    clock.advance(1000);
    await expect(tokens.authenticate(bearer("hunter22"))).rejects.toMatchObject({ code: "unauthenticated" });
    expect(reported).toEqual(["DIR/shop/short holds a token of 8 characters, expected at least 16"]);
  });

  it("reports a missing directory, and reads it once it exists", async () => {
    const directory = join(await scratch(), "tokens");
    const reported: string[] = [];
    const clock = new FakeClock();
    const tokens = tokenDirectory({
      directory,
      trustDomain: "td",
      clock,
      onUnusable: ({ path, reason }) => reported.push(`${path} ${reason}`),
    });
    await tokens.check();
    expect(reported).toEqual([`${directory} does not exist`]);
    await mkdir(join(directory, "shop"), { recursive: true });
    await writeFile(join(directory, "shop", "cart"), "cart-0123456789abcdef");
    clock.advance(1000);
    expect(await tokens.authenticate(bearer("cart-0123456789abcdef"))).toMatchObject({
      identities: ["spiffe://td/ns/shop/sa/cart"],
    });
  });

  it("reads the directory once for concurrent callers", async () => {
    const directory = await scratch();
    const names = Array.from({ length: 20 }, (_, n) => `account-${n}`);
    await mkdir(join(directory, "shop"));
    for (const name of names) await writeFile(join(directory, "shop", name), `${name}-0123456789abcdef`);
    const tokens = tokenDirectory({ directory, trustDomain: "td", clock: new FakeClock(0) });
    const callers = await Promise.all(names.map((name) => tokens.authenticate(bearer(`${name}-0123456789abcdef`))));
    expect(callers.map((c) => c?.identities)).toEqual(names.map((name) => [`spiffe://td/ns/shop/sa/${name}`]));
  });
});

describe("authenticate", () => {
  it("tries authenticators in order and reports the reason of each", async () => {
    const a = staticTokens([["aaaaaaaaaaaaaaaa", { trustDomain: "td", namespace: "n", serviceAccount: "a" }]]);
    const b = staticTokens([["bbbbbbbbbbbbbbbb", { trustDomain: "td", namespace: "n", serviceAccount: "b" }]]);
    expect(await authenticate([a, b], bearer("bbbbbbbbbbbbbbbb"))).toMatchObject({
      identities: ["spiffe://td/ns/n/sa/b"],
    });
    await expect(authenticate([a, b], bearer("cccccccccccccccc"))).rejects.toMatchObject({
      code: "unauthenticated",
      message: "10.0.0.1:1 is not authenticated (static token: unknown token; static token: unknown token)",
    });
    await expect(authenticate([], nobody)).rejects.toThrow("no authenticator is configured");
  });
});
