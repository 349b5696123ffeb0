import { createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate as NodeCertificate } from "node:crypto";
import { isIP } from "node:net";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { createSelfSignedRoot, type KeyType, selfSignedBundle, type SigningBundle } from "@istiod/ca";
import { addressOctets } from "../src/authority/address-octets.js";
import { type LeafBlanks, leafTemplate, signTemplate } from "../src/authority/leaf-template.js";
import { signingKey } from "../src/keys.js";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "../src/x509.js";

/** Builds the certificate as a tree of ASN.1 objects, by an independent library. */
async function fullyBuilt(blanks: LeafBlanks, signer: SigningBundle): Promise<X509Certificate> {
  const issuer = new X509Certificate(signer.certificate.raw);
  const { key, algorithm } = await signingKey(signer.privateKey);
  const { commonName } = blanks;
  const names = blanks.names.map((value): JsonGeneralName => {
    if (isIP(value)) return { type: "ip", value };
    return { type: value.startsWith("spiffe://") ? "url" : "dns", value };
  });
  return X509CertificateGenerator.create({
    serialNumber: Buffer.from(blanks.serialNumber).toString("hex"),
    issuer: issuer.subjectName,
    ...(commonName !== undefined && { subject: new Name([{ CN: [{ utf8String: commonName }] }]) }),
    notBefore: new Date(blanks.notBefore),
    notAfter: new Date(blanks.notAfter),
    publicKey: Uint8Array.from(blanks.publicKeyDer),
    signingKey: key,
    signingAlgorithm: algorithm,
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new BasicConstraintsExtension(false, undefined, true),
      new AuthorityKeyIdentifierExtension(issuer.getExtension(SubjectKeyIdentifierExtension)!.keyId),
      new SubjectAlternativeNameExtension(names, commonName === undefined),
    ],
  });
}

/** Returns the signed part of a certificate: it begins after the outer header, whose length has two octets here. */
function signedPart(der: Buffer): Buffer {
  const start = 4;
  expect(der.readUInt16BE(0)).toBe(0x3082);
  const octets = der[start + 1]! & 0x7f;
  const length = der[start + 1]! < 0x80 ? der[start + 1]! : der.readUIntBE(start + 2, octets) + octets;
  return der.subarray(start, start + 2 + length);
}

const issuers: readonly [string, KeyType][] = [
  ["RSA 2048", { type: "rsa", bits: 2048 }],
  ["P-256", { type: "ecdsa", curve: "P-256" }],
  ["P-384", { type: "ecdsa", curve: "P-384" }],
];

const subjectKeys: readonly KeyObject[] = [
  generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey,
  generateKeyPairSync("rsa", { modulusLength: 4096 }).publicKey,
  generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey,
  generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey,
];

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
const spiffe = fc.tuple(label, label, label).map(([td, ns, sa]) => `spiffe://${td}/ns/${ns}/sa/${sa}`);
// The library misreads IPv6 addresses that end in IPv4 notation; a test of its own covers them.
const ipv6 = fc.ipV6().filter((address) => isIP(address) === 6 && !address.includes("."));
const name = fc.oneof(spiffe, label, fc.ipV4(), ipv6);
const second = fc
  .integer({ min: Date.UTC(2020, 0, 1) / 1000, max: Date.UTC(2080, 0, 1) / 1000 })
  .map((seconds) => seconds * 1000);

const blanksOf = fc.record<LeafBlanks>({
  serialNumber: fc
    .uint8Array({ minLength: 1, maxLength: 20 })
    .filter((octets) => octets.some((octet) => octet !== 0) && octets[0]! < 0x80),
  notBefore: second,
  notAfter: second,
  commonName: fc.option(
    spiffe.filter(({ length }) => length <= 64),
    { nil: undefined },
  ),
  publicKeyDer: fc.constantFrom(...subjectKeys).map((key) => key.export({ type: "spki", format: "der" })),
  names: fc.array(name, { minLength: 1, maxLength: 5 }),
});

describe.each(issuers)("a leaf that a template of a CA with a key %s yields", (_, key) => {
  let signer: SigningBundle;
  beforeAll(async () => {
    const now = Date.UTC(2030, 0, 1);
    const root = await createSelfSignedRoot({ organization: "example.org", key }, now);
    signer = selfSignedBundle(root, "test", now);
  });

  it("equals the one that is built as a tree of ASN.1 objects, and OpenSSL accepts it", async () => {
    await fc.assert(
      fc.asyncProperty(blanksOf, async (blanks) => {
        const der = await signTemplate(leafTemplate(signer), blanks);
        const expected = Buffer.from((await fullyBuilt(blanks, signer)).rawData);
        expect(signedPart(der).toString("hex")).toBe(signedPart(expected).toString("hex"));
        const leaf = new NodeCertificate(der);
        expect(leaf.verify(signer.certificate.publicKey)).toBe(true);
        expect(leaf.checkIssued(signer.certificate)).toBe(true);
        expect(
          leaf.publicKey.equals(
            createPublicKey({ key: Buffer.from(blanks.publicKeyDer), format: "der", type: "spki" }),
          ),
        ).toBe(true);
        expect(Date.parse(leaf.validFrom)).toBe(blanks.notBefore);
        expect(Date.parse(leaf.validTo)).toBe(blanks.notAfter);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    [Date.UTC(2049, 11, 31, 23, 59, 59), "170d3439313233313233353935395a"],
    [Date.UTC(2050, 0, 1), "180f32303530303130313030303030305a"],
  ])("encodes the expiry %i as RFC 5280 requires", async (notAfter, encoded) => {
    const der = await signTemplate(leafTemplate(signer), {
      serialNumber: Uint8Array.of(0xff),
      notBefore: Date.UTC(2030, 0, 1),
      notAfter,
      commonName: undefined,
      publicKeyDer: subjectKeys[2]!.export({ type: "spki", format: "der" }),
      names: ["spiffe://example.org/ns/shop/sa/cart"],
    });
    expect(der.toString("hex")).toContain(encoded);
    expect(Date.parse(new NodeCertificate(der).validTo)).toBe(notAfter);
    // A leading zero keeps the number positive.
    expect(der.toString("hex")).toContain("020200ff");
  });
});

it("rejects names that an IA5String cannot hold", async () => {
  const root = await createSelfSignedRoot({ organization: "td", key: { type: "ecdsa", curve: "P-256" } }, 0);
  const signed = signTemplate(leafTemplate(selfSignedBundle(root, "test", 1)), {
    serialNumber: Uint8Array.of(1),
    notBefore: 0,
    notAfter: 1000,
    commonName: undefined,
    publicKeyDer: subjectKeys[2]!.export({ type: "spki", format: "der" }),
    names: ["spiffe://example.org/ns/shöp/sa/cart"],
  });
  await expect(signed).rejects.toThrow('name "spiffe://example.org/ns/shöp/sa/cart" has characters outside of ASCII');
});

it.each([
  ["10.1.2.3", "0a010203"],
  ["::1", "00000000000000000000000000000001"],
  ["2001:db8::5:0:1", "20010db8000000000000000500000001"],
  ["::ffff:10.0.0.1", "00000000000000000000ffff0a000001"],
  ["::", "00000000000000000000000000000000"],
  ["1:2:3:4:5:6:10.0.0.1", "0001000200030004000500060a000001"],
])("encodes the address %s", (address, octets) => {
  expect(addressOctets(address).toString("hex")).toBe(octets);
});
