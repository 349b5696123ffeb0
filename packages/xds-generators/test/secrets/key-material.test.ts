import { generateKeyPairSync } from "node:crypto";
import { Extension, KeyUsageFlags, mint, mintRevocationList } from "@istiod/ca/testing";
import { describe, expect, it } from "vitest";
import { type CertificateUse, firstListExpiry, keyPairFault, rootsFault } from "@istiod/credentials";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const root = await mint({ ca: true });
const leaf = await mint({ issuer: root });
const other = await mint({ issuer: root });
const expired = await mint({ issuer: root, notBefore: -7_200_000, notAfter: -3_600_000 });
const curve = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve }).privateKey;
const rsa = (modulusLength: number) => generateKeyPairSync("rsa", { modulusLength }).privateKey;
const strong = await mint({ key: rsa(2048) });
const large = await mint({ key: curve("P-384") });
const encrypted = leaf.key.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "a" }).toString();
const sec1 = leaf.key.export({ type: "sec1", format: "pem" }).toString();
const garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const list = await mintRevocationList(root, { revoked: ["01"] });
const staple = Uint8Array.of(0x30, 5, 0x0a, 1, 0, 0xa0, 0);

const faultOf = (chain: string, key: string, use: CertificateUse = "client"): string | undefined =>
  keyPairFault({ chain: bytes(chain), key: bytes(key) }, use);

describe("a certificate with its key", () => {
  it.each([
    ["a leaf", leaf.pem, leaf.keyPem],
    ["a chain", leaf.pem + root.pem, leaf.keyPem],
    ["an expired certificate", expired.pem, expired.keyPem],
    ["RSA", strong.pem, strong.keyPem],
    ["P-384", large.pem, large.keyPem],
    ["a key in SEC1's form", leaf.pem, sec1],
    ["text around it", `subject=a\n${leaf.pem}\n# end\n`, `a: b\n${leaf.keyPem}`],
    ["lines that end in CR LF", leaf.pem.replaceAll("\n", "\r\n"), leaf.keyPem.replaceAll("\n", "\r\n")],
  ])("is sent: %s", (_, chain, key) => {
    expect(faultOf(chain, key)).toBeUndefined();
  });

  it.each([
    ["the certificate is not PEM", "CHAIN", leaf.keyPem],
    ["the certificate is not PEM", leaf.keyPem, leaf.keyPem],
    ["the certificate is malformed", garbage, leaf.keyPem],
    ["the certificate is malformed", leaf.pem + garbage, leaf.keyPem],
    ["the key is not PEM of a private key", leaf.pem, "KEY"],
    ["the key is not PEM of a private key", leaf.pem, leaf.pem],
    ["the key is malformed", leaf.pem, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"],
    ["the key is encrypted, and there is no password for it", leaf.pem, encrypted],
    ["the key is not the certificate's", leaf.pem, other.keyPem],
    ["the key is not the certificate's", root.pem + leaf.pem, leaf.keyPem],
  ])("is denied: %s", (fault, chain, key) => {
    expect(faultOf(chain, key)).toBe(fault);
  });

  it("is denied with a malformed OCSP staple", () => {
    const pair = { chain: bytes(leaf.pem), key: bytes(leaf.keyPem) };
    expect(keyPairFault({ ...pair, ocspStaple: staple }, "client")).toBeUndefined();
    for (const malformed of ["STAPLE", "", "\u0030\u0003\u000a\u0001\u0006"])
      expect(keyPairFault({ ...pair, ocspStaple: bytes(malformed) }, "client")).toBe("the OCSP staple is malformed");
  });
});

describe("a certificate for servers", () => {
  const uri = "spiffe://a/b";
  const feature = (...value: readonly number[]): Extension =>
    new Extension("1.3.6.1.5.5.7.1.24", false, Uint8Array.from(value));

  it.each([
    ["a common name", { subject: "CN=a" }],
    ["a common name after other parts", { subject: "O=b,CN=a" }],
    ["a URI", { names: [{ type: "url", value: uri }] }],
    ["a DNS name", { names: [{ type: "dns", value: "a.b" }] }],
    ["an IP address", { names: [{ type: "ip", value: "10.0.0.1" }] }],
    ["another TLS feature", { subject: "CN=a", extensions: [feature(0x30, 3, 2, 1, 17)] }],
  ] as const)("is sent with %s", async (_, options) => {
    const { pem, keyPem } = await mint(options);
    expect(faultOf(pem, keyPem, "server")).toBeUndefined();
  });

  const nameFault =
    "the certificate has neither a common name nor a DNS name, URI or IP address as SAN, which servers need";
  it.each([
    [nameFault, { subject: "" }],
    [nameFault, { subject: "O=a" }],
    [nameFault, { subject: "", names: [{ type: "email", value: "a@b.c" }] }],
    [
      "the certificate needs an OCSP staple, and there is none",
      { subject: "CN=a", extensions: [feature(0x30, 3, 2, 1, 5)] },
    ],
  ] as const)("is denied: %s", async (fault, options) => {
    const { pem, keyPem } = await mint(options);
    expect(faultOf(pem, keyPem, "server")).toBe(fault);
    expect(faultOf(pem, keyPem, "client")).toBeUndefined();
  });

  it("is sent with the OCSP staple that it needs", async () => {
    const { pem, keyPem } = await mint({ subject: "CN=a", extensions: [feature(0x30, 3, 2, 1, 5)] });
    expect(keyPairFault({ chain: bytes(pem), key: bytes(keyPem), ocspStaple: staple }, "server")).toBeUndefined();
  });
});

describe("keys whose numbers do not fit", () => {
  const pem = (name: string, der: Buffer): string =>
    `-----BEGIN ${name}-----\n${der.toString("base64")}\n-----END ${name}-----\n`;
  const changed = (der: Buffer, from: number): string[] =>
    [1, 0x80].map((bit) => {
      const damaged = Buffer.from(der);
      damaged[from] = (damaged[from] ?? 0) ^ bit;
      return damaged.toString("base64");
    });

  it.each([
    [
      "RSA PRIVATE KEY",
      strong.pem,
      strong.key.export({ type: "pkcs1", format: "der" }),
      [20, 300, 600, 700, 800, 900, -1],
    ],
    ["EC PRIVATE KEY", leaf.pem, leaf.key.export({ type: "sec1", format: "der" }), [10, -1, -20]],
  ] as const)("are malformed: %s", (name, chain, der, places) => {
    for (const place of places)
      for (const damaged of changed(der, place < 0 ? der.length + place : place))
        expect(faultOf(chain, pem(name, Buffer.from(damaged, "base64")))).toBe("the key is malformed");
    expect(faultOf(chain, pem(name, der))).toBeUndefined();
  });
});

it("a certificate for ECDSA whose key usage does not allow signatures is denied", async () => {
  const usages = { keyUsages: KeyUsageFlags.keyAgreement, subject: "CN=a" };
  const agreement = await mint(usages);
  expect(faultOf(agreement.pem, agreement.keyPem)).toBe(
    "the certificate's key usage does not allow digital signatures",
  );
  const encipherment = await mint({ ...usages, key: rsa(2048) });
  expect(faultOf(encipherment.pem, encipherment.keyPem)).toBeUndefined();
});

describe("root certificates", () => {
  it.each([
    ["one", root.pem, undefined],
    ["several", root.pem + leaf.pem, undefined],
    ["expired", expired.pem, undefined],
    ["with a revocation list", root.pem, list],
  ])("are sent: %s", (_, certificates, crl) => {
    expect(
      rootsFault({ certificates: bytes(certificates), ...(crl !== undefined && { crl: bytes(crl) }) }),
    ).toBeUndefined();
  });

  it.each([
    ["there is no root certificate in PEM", "ROOTS", undefined],
    ["there is no root certificate in PEM", leaf.keyPem, undefined],
    ["a root certificate is malformed", garbage, undefined],
    ["a root certificate is malformed", root.pem + garbage, undefined],
    ["there is no revocation list in PEM", root.pem, "CRL"],
    ["there is no revocation list in PEM", root.pem, root.pem],
    ["a revocation list is malformed", root.pem, "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"],
    ["a revocation list is malformed", root.pem, list + "-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n"],
  ])("are denied: %s", (fault, certificates, crl) => {
    expect(rootsFault({ certificates: bytes(certificates), ...(crl !== undefined && { crl: bytes(crl) }) })).toBe(
      fault,
    );
  });
});

describe("PEM as Envoy's BoringSSL reads it", () => {
  const block = (body: string, name = "CERTIFICATE"): string =>
    `-----BEGIN ${name}-----\n${body}-----END ${name}-----\n`;
  const body = root.pem.replaceAll(/-----.*-----\n?/g, "");
  const malformed: readonly (readonly [string, string])[] = [
    ["a character that is not base64", block(`${body.slice(0, 20)}!${body.slice(20)}`)],
    ["a dash in the body", block("AA-A\n")],
    ["no end", "-----BEGIN CERTIFICATE-----\nAAAA\n"],
    ["the end of another block", `-----BEGIN CERTIFICATE-----\n${body}-----END X509 CRL-----\n`],
    ["too much padding", block(`${body.trim()}==\n`)],
    ["half a quantum", block("AAA\n")],
    ["an empty body", block("")],
    ["a header", block(`a: b\n\n${body}`)],
    ["an empty line", block(`${body}\n`)],
    ["no line end before the next block", root.pem.trimEnd()],
  ];

  it.each(malformed)("denies a chain, roots and revocation lists with a block with %s", (title, bad) => {
    expect(faultOf(leaf.pem + bad, leaf.keyPem) ?? bad).toBe(
      bad === root.pem.trimEnd() ? bad : "the certificate is malformed",
    );
    expect(rootsFault({ certificates: bytes(bad + root.pem) })).toBe("a root certificate is malformed");
    expect(rootsFault({ certificates: bytes(root.pem), crl: bytes(bad + list) })).toBe(
      "a revocation list is malformed",
    );
    // The header of a block that is no key is not read.
    expect(faultOf(leaf.pem, bad + leaf.keyPem)).toBe(title === "a header" ? undefined : "the key is malformed");
  });

  it.each([
    ["long lines", block(`${body.replaceAll("\n", "")}\n`)],
    ["spaces at line ends", block(body.replaceAll("\n", " \n"))],
    ["other blocks", leaf.keyPem + block("AAAA\n", "OTHER") + root.pem],
    ["a revocation list", list + root.pem],
  ])("takes roots with %s", (_, text) => {
    expect(rootsFault({ certificates: bytes(text) })).toBeUndefined();
  });

  it.each(["X509 CRL", "EC PRIVATE KEY", "RSA PRIVATE KEY"])("denies roots with a malformed %s", (name) => {
    expect(rootsFault({ certificates: bytes(root.pem + block("AAAA\n", name)) })).toBe(
      "a root certificate is malformed",
    );
  });

  it("denies a revocation list whose fields are others", () => {
    const der = Buffer.from(list.replaceAll(/-----.*-----\n?/g, ""), "base64");
    const taken = [0, 1, 4, 5, 7, 8, 10, 11].filter((at) => {
      const damaged = Buffer.from(der);
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      const crl = bytes(block(`${damaged.toString("base64")}\n`, "X509 CRL"));
      return rootsFault({ certificates: bytes(root.pem), crl }) === undefined;
    });
    expect(taken).toEqual([]);
  });
});

it("the first of several revocation lists to expire counts", async () => {
  const hour = 3_600_000;
  const lists = await Promise.all([3, 2].map((hours) => mintRevocationList(root, { nextUpdate: hours * hour })));
  const expiry = firstListExpiry(bytes(lists.join(""))) ?? 0;
  expect(Math.round((expiry - Date.now()) / hour)).toBe(2);
  const century = await mintRevocationList(root, { nextUpdate: 24 * 365 * 30 * hour });
  expect(new Date(firstListExpiry(bytes(century)) ?? 0).getUTCFullYear()).toBeGreaterThan(2050);
  expect(firstListExpiry(bytes("none"))).toBeUndefined();
});
