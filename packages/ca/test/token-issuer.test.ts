import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateKeyPairSync } from "node:crypto";
import {
  createTokenKey,
  type Credentials,
  followTokenKeys,
  holdsPrivateKey,
  issueToken,
  readTokenKeys,
  signedTokens,
  tokenKeyIssuer,
} from "@istiod/ca";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "@istiod/runtime/testing";
import { scratch } from "./openssl.js";

const now = Date.UTC(2030, 0, 1);
const claims = { namespace: "shop", serviceAccount: "cart", audiences: ["istio-ca"], lifetime: 3600_000 };

const bearer = (token: string): Credentials => ({
  encrypted: true,
  header: (name) => (name === "authorization" ? `Bearer ${token}` : undefined),
});

/** Resolves to the identity of a token's caller, or to the reason why it has none. */
async function check(token: string, keys: Awaited<ReturnType<typeof readTokenKeys>>, at = now): Promise<unknown> {
  const clock = new FakeClock(at);
  const options = { issuer: tokenKeyIssuer, audiences: ["istio-ca"], trustDomain: "td", clock };
  return signedTokens({ ...options, keys: () => keys })
    .authenticate(bearer(token))
    .then(
      (caller) => caller?.identities,
      ({ message }: Error) => message,
    );
}

it("a key pair is created once, and only its owner can read the private key", async () => {
  const path = join(await scratch(), "token.key");
  expect(await createTokenKey(path)).toBe(`${path}.pub`);
  expect(((await stat(path)).mode & 0o777).toString(8)).toBe("600");
  expect(await readFile(`${path}.pub`, "utf8")).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
  expect([await holdsPrivateKey(path), await holdsPrivateKey(`${path}.pub`)]).toEqual([true, false]);
  const before = await readFile(path, "utf8");
  await expect(createTokenKey(path)).rejects.toMatchObject({
    code: "store",
    message: `${path} exists, and is not replaced: its tokens would no longer be accepted`,
  });
  expect(await readFile(path, "utf8")).toBe(before);

  const other = join(await scratch(), "other.key");
  await writeFile(`${other}.pub`, "public");
  await expect(createTokenKey(other)).rejects.toThrow(`${other}.pub exists`);
  await expect(stat(other)).rejects.toMatchObject({ code: "ENOENT" });
  await expect(createTokenKey(join(other, "x"))).rejects.toMatchObject({ code: "store" });
});

it("a token is that of a service account, and the public key verifies it", async () => {
  const path = join(await scratch(), "token.key");
  await createTokenKey(path);
  const token = await issueToken(path, claims, now);
  expect(decodeProtectedHeader(token)).toEqual({ alg: "ES256", typ: "JWT" });
  expect(decodeJwt(token)).toEqual({
    iss: "istiod",
    sub: "system:serviceaccount:shop:cart",
    aud: ["istio-ca"],
    iat: now / 1000,
    nbf: now / 1000,
    exp: now / 1000 + 3600,
    jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    "kubernetes.io": { namespace: "shop", serviceaccount: { name: "cart" } },
  });
  const keys = await readTokenKeys(`${path}.pub`);
  expect(await check(token, keys)).toEqual(["spiffe://td/ns/shop/sa/cart"]);
  expect(await check(token, await readTokenKeys(path))).toEqual(["spiffe://td/ns/shop/sa/cart"]);
  expect(await check(token, keys, now + 3600_000)).toMatch(/"exp" claim/);
  expect(await check(await issueToken(path, { ...claims, audiences: ["other"] }, now), keys)).toMatch(/"aud" claim/);
  const stranger = join(await scratch(), "token.key");
  await createTokenKey(stranger);
  expect(await check(await issueToken(stranger, claims, now), keys)).toMatch(/no key of the issuer/);
});

it.each([
  ["rsa", { modulusLength: 2048 }, "RS256"],
  ["ec", { namedCurve: "P-384" }, "ES384"],
  ["ed25519", {}, "EdDSA"],
] as const)("a key of %s made elsewhere signs tokens", async (type, options, algorithm) => {
  const path = join(await scratch(), "token.key");
  const { privateKey } = generateKeyPairSync(type as "rsa", options as { modulusLength: number });
  await writeFile(path, privateKey.export({ type: "pkcs8", format: "pem" }));
  const token = await issueToken(path, claims, now);
  expect(decodeProtectedHeader(token).alg).toBe(algorithm);
  expect(await check(token, await readTokenKeys(path))).toEqual(["spiffe://td/ns/shop/sa/cart"]);
});

it("a token is not issued for a name that no service account has, nor without a usable key", async () => {
  const directory = await scratch();
  const path = join(directory, "token.key");
  await createTokenKey(path);
  for (const wrong of [{ namespace: "shop/x" }, { serviceAccount: "a:b" }, { serviceAccount: "" }])
    await expect(issueToken(path, { ...claims, ...wrong }, now)).rejects.toMatchObject({ code: "identity" });
  await expect(issueToken(path, { ...claims, audiences: [] }, now)).rejects.toThrow("at least one is required");
  await expect(issueToken(`${path}.pub`, claims, now)).rejects.toMatchObject({ code: "malformed" });
  await expect(issueToken(join(directory, "none"), claims, now)).rejects.toMatchObject({ code: "store" });
  const secp = generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey;
  await writeFile(path, secp.export({ type: "pkcs8", format: "pem" }));
  await expect(issueToken(path, claims, now)).rejects.toThrow(
    "expected a key of RSA (2048 bits), P-256, P-384, P-521 or Ed25519",
  );
});

it("keys can be added and removed while istiod runs; an invalid file changes nothing", async () => {
  const directory = await scratch();
  const [first, second] = [join(directory, "1.key"), join(directory, "2.key")];
  const publicKeys = [await createTokenKey(first), await createTokenKey(second)];
  const [one = "", two = ""] = await Promise.all(publicKeys.map((path) => readFile(path, "utf8")));
  await mkdir(join(directory, "used"));
  const path = join(directory, "used", "keys.pem");
  await writeFile(path, one);
  const errors: string[] = [];
  const followed = await followTokenKeys({ path, onError: ({ message }) => errors.push(message) });
  onTestFinished(() => followed.stop());
  const identities = async () => {
    const tokens = [await issueToken(first, claims, now), await issueToken(second, claims, now)];
    return Promise.all(tokens.map(async (token) => Array.isArray(await check(token, followed.current()))));
  };
  const poll = { timeout: 20_000, interval: 20 };
  expect(await identities()).toEqual([true, false]);
  await writeFile(path, one + two);
  await expect.poll(identities, poll).toEqual([true, true]);
  await writeFile(path, "junk");
  await expect.poll(() => errors, poll).toEqual([expect.stringMatching(/neither a JSON Web Key Set nor public keys/)]);
  expect(await identities()).toEqual([true, true]);
  await writeFile(path, two);
  await expect.poll(identities, poll).toEqual([false, true]);
  await chmod(path, 0o600);
  await expect(followTokenKeys({ path: join(directory, "none") })).rejects.toMatchObject({ code: "store" });
}, 60_000);
