import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import {
  CaError,
  CertificateAuthority,
  type IssuedCertificate,
  type KeyType,
  createSelfSignedRoot,
  issueServingCertificate,
  selfSignedBundle,
} from "@istiod/ca";
import { FakeClock } from "@istiod/runtime/testing";
import { P256, P384, request, show, verify } from "./openssl.js";

const NOW = Date.UTC(2030, 0, 2, 3, 4, 5);
const HOUR = 3600 * 1000;
const CART = "spiffe://cluster.local/ns/shop/sa/cart";

async function authority(key: KeyType, lifetime?: number): Promise<{ ca: CertificateAuthority; clock: FakeClock }> {
  const clock = new FakeClock(NOW);
  const root = await createSelfSignedRoot(
    { organization: "cluster.local", key, ...(lifetime ? { lifetime } : {}) },
    NOW,
  );
  return { ca: new CertificateAuthority({ bundle: selfSignedBundle(root, "test", NOW), clock }), clock };
}

describe.each<[string, KeyType]>([
  ["RSA 2048", { type: "rsa", bits: 2048 }],
  ["P-256", { type: "ecdsa", curve: "P-256" }],
  ["P-384", { type: "ecdsa", curve: "P-384" }],
])("a CA with a key %s", (_, key) => {
  let ca: CertificateAuthority;
  beforeAll(async () => {
    ({ ca } = await authority(key));
  });

  it.each([
    ["RSA", ["rsa:2048"]],
    ["P-256", P256],
    ["P-384", P384],
    ["P-521", ["ec", "-pkeyopt", "ec_paramgen_curve:secp521r1"]],
    ["Ed25519", ["ed25519"]],
  ])("signs for a key %s, and openssl verifies the chain for both sides of a connection", async (_name, newkey) => {
    const csr = await request(newkey);
    const issued = await ca.sign({ request: csr.request, names: [CART] });
    const chain = [issued.certificate, ...issued.chain, issued.roots];
    await verify(chain, { at: NOW / 1000, purpose: "sslserver" });
    await verify(chain, { at: NOW / 1000, purpose: "sslclient" });
    const text = await show(issued.certificate);
    expect(text).toContain(`URI:${CART}`);
    expect(text).toContain("X509v3 Subject Alternative Name: critical");
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature, Key Encipherment\n/);
    expect(text).toContain("TLS Web Server Authentication, TLS Web Client Authentication");
    expect(text).toContain("CA:FALSE");
    const leaf = new X509Certificate(issued.certificate);
    expect(leaf.publicKey.export({ type: "spki", format: "pem" })).toBe(
      createPublicKey(csr.key).export({ type: "spki", format: "pem" }),
    );
  });
});

describe("a leaf certificate", () => {
  let ca: CertificateAuthority;
  let clock: FakeClock;
  beforeAll(async () => {
    ({ ca, clock } = await authority({ type: "ecdsa", curve: "P-256" }, 24 * 100 * HOUR));
  });

  it("has the names of the caller, never those of the request", async () => {
    const { request: csr } = await request(
      P256,
      "-addext",
      "subjectAltName=URI:spiffe://cluster.local/ns/istio-system/sa/admin,DNS:evil.example",
      "-addext",
      "basicConstraints=critical,CA:TRUE",
      "-addext",
      "keyUsage=keyCertSign",
    );
    const text = await show((await ca.sign({ request: csr, names: [CART] })).certificate);
    expect(text).not.toMatch(/admin|evil|CA:TRUE|Certificate Sign|anything/);
    expect(text).toContain(`URI:${CART}`);
  });

  it("is valid from two minutes ago for 24 hours by default", async () => {
    const { request: csr } = await request(P256);
    const day = new X509Certificate((await ca.sign({ request: csr, names: [CART] })).certificate);
    expect(Date.parse(day.validFrom)).toBe(NOW - 120_000);
    expect(Date.parse(day.validTo)).toBe(NOW + 24 * HOUR);
    const hour = await ca.sign({ request: csr, names: [CART], lifetime: HOUR });
    expect(hour.notAfter).toBe(NOW + HOUR);
  });

  it("never outlives the CA", async () => {
    const { request: csr } = await request(P256);
    const near = new FakeClock(NOW);
    const root = await createSelfSignedRoot(
      { organization: "td", key: { type: "ecdsa", curve: "P-256" }, lifetime: 3 * HOUR },
      NOW,
    );
    const short = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", NOW), clock: near });
    expect((await short.sign({ request: csr, names: [CART] })).notAfter).toBe(NOW + 3 * HOUR);
    near.advance(3 * HOUR);
    await expect(short.sign({ request: csr, names: [CART] })).rejects.toMatchObject({ code: "not-ready" });
  });

  it("has a common name, the identity, only if the request has one", async () => {
    const { request: csr } = await request(P256, "-subj", "/CN=whatever");
    expect(await show((await ca.sign({ request: csr, names: [CART] })).certificate)).toMatch(
      new RegExp(`Subject: CN ?= ?${CART}`),
    );
    const long = `spiffe://cluster.local/ns/${"n".repeat(40)}/sa/cart`;
    const text = await show((await ca.sign({ request: csr, names: [long] })).certificate);
    expect(text).toMatch(/Subject: *\n/);
  });

  it("has a serial number of 128 random bits", async () => {
    const { request: csr } = await request(P256);
    const serials = await Promise.all(
      Array.from(
        { length: 20 },
        async () => new X509Certificate((await ca.sign({ request: csr, names: [CART] })).certificate).serialNumber,
      ),
    );
    expect(new Set(serials).size).toBe(20);
    expect(Math.max(...serials.map((serial) => serial.length))).toBe(32);
    void clock;
  });
});

describe("sign rejects", () => {
  let ca: CertificateAuthority;
  beforeAll(async () => {
    ({ ca } = await authority({ type: "ecdsa", curve: "P-256" }));
  });
  const sign = (csr: string, lifetime?: number): Promise<unknown> =>
    ca.sign({ request: csr, names: [CART], ...(lifetime === undefined ? {} : { lifetime }) });

  it("a lifetime over 90 days", async () => {
    const { request: csr } = await request(P256);
    await expect(sign(csr, 90 * 24 * HOUR + 1000)).rejects.toMatchObject({
      code: "ttl",
      message: "requested lifetime of 7776001 s is longer than the 7776000 s allowed",
    });
    await expect(sign(csr, 90 * 24 * HOUR)).resolves.toBeDefined();
  });

  it("weak and unsupported keys", async () => {
    await expect(sign((await request(["rsa:1024"])).request)).rejects.toMatchObject({
      code: "csr",
      message: "RSA key of 1024 bits: expected 2048 to 8192",
    });
    await expect(
      sign((await request(["ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"])).request),
    ).rejects.toMatchObject({ code: "csr" });
    await expect(sign((await request(["ed448"])).request)).rejects.toMatchObject({
      code: "csr",
      message: "key algorithm with object identifier 2b6571: expected RSA, ECDSA or Ed25519",
    });
  });

  it("a request whose signature does not match its key", async () => {
    const { request: csr } = await request(P256);
    const der = Buffer.from(csr.replace(/-----.*-----/g, ""), "base64");
    const at = der.indexOf("anything");
    der.write("ANYTHING", at);
    const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
    await expect(sign(forged)).rejects.toMatchObject({
      code: "csr",
      message: "signing request: its signature does not match its key",
    });
  });

  it("text that is not a request", async () => {
    for (const text of [
      "",
      "x",
      "-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----",
      "-----END CERTIFICATE REQUEST-----\n-----BEGIN CERTIFICATE REQUEST-----",
    ]) {
      await expect(sign(text)).rejects.toMatchObject({ code: "csr" });
    }
    await expect(sign("x".repeat(65537))).rejects.toMatchObject({
      code: "csr",
      message: "signing request of 65537 characters: at most 65536 are accepted",
    });
  });

  it("any other bytes, with the code csr", async () => {
    const { request: csr, key } = await request(P256);
    const der = Buffer.from(csr.replace(/-----.*-----/g, ""), "base64");
    const pem = (bytes: Uint8Array): string =>
      `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(bytes).toString("base64")}\n-----END CERTIFICATE REQUEST-----`;
    const mutated = fc
      .tuple(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), fc.nat(der.length))
      .map(([at, by, length]) => {
        const bytes = Buffer.from(der);
        bytes[at] = bytes[at]! ^ by;
        return pem(length % 3 === 0 ? bytes.subarray(0, length) : bytes);
      });
    const anything = fc.oneof(fc.string(), fc.uint8Array({ maxLength: 300 }).map(pem), mutated);
    await fc.assert(
      fc.asyncProperty(anything, async (text) => {
        const outcome = await ca.sign({ request: text, names: [CART] }).catch((error: unknown) => error);
        if (outcome instanceof Error) {
          expect(outcome).toBeInstanceOf(CaError);
          expect((outcome as CaError).code).toBe("csr");
          return;
        }
        // A flipped bit outside the signed part may be read over; the signature still proves the same key.
        const leaf = new X509Certificate((outcome as IssuedCertificate).certificate);
        expect(leaf.publicKey.equals(createPublicKey(key))).toBe(true);
        expect(leaf.subjectAltName).toBe(`URI:${CART}`);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a serving certificate", () => {
  const typeOf = (cert: string, key: string): string | undefined => {
    const leaf = new X509Certificate(cert);
    expect(leaf.checkPrivateKey(createPrivateKey(key))).toBe(true);
    return `${leaf.publicKey.asymmetricKeyType} ${leaf.subjectAltName}`;
  };

  it("of a CA with an RSA key has an ECDSA key, and an RSA key for clients that accept no other", async () => {
    const { ca } = await authority({ type: "rsa", bits: 2048 });
    const { cert, key, fallback, notAfter } = await issueServingCertificate(ca, ["istiod.test"], HOUR, NOW);
    expect(typeOf(cert, key)).toBe("ec DNS:istiod.test");
    expect(typeOf(fallback!.cert, fallback!.key)).toBe("rsa DNS:istiod.test");
    expect(Date.parse(new X509Certificate(fallback!.cert).validTo)).toBe(notAfter);
    for (const chain of [cert, fallback!.cert])
      await verify([chain, ca.bundle.rootsPem], { at: NOW / 1000, purpose: "sslserver" });
  });

  it.each(["P-256", "P-384"] as const)("of a CA with a key %s has a key of that type only", async (curve) => {
    const { ca } = await authority({ type: "ecdsa", curve });
    const { cert, key, fallback } = await issueServingCertificate(ca, ["istiod.test"], HOUR, NOW);
    expect(typeOf(cert, key)).toBe("ec DNS:istiod.test");
    expect(new X509Certificate(cert).publicKey.asymmetricKeyDetails?.namedCurve).toBe(
      curve === "P-256" ? "prime256v1" : "secp384r1",
    );
    expect(fallback).toBeUndefined();
  });
});
