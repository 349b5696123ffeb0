import { generateKeyPairSync } from "node:crypto";
import { mint, mintRevocationList, uri } from "@istiod/ca/testing";
import type { KeyPair, RootCertificates } from "@istiod/credentials";
import fc from "fast-check";
import { derChange, textChange } from "./mutations.js";

const ca = await mint({ ca: true });
const leaf = await mint({
  issuer: ca,
  subject: "CN=a,O=b",
  names: [uri("spiffe://a/b"), { type: "dns", value: "a.b" }],
});
const rsaKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const rsa = await mint({ key: rsaKey, subject: "CN=c" });
const large = await mint({ key: generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey, subject: "CN=d" });
const list = await mintRevocationList(ca, { revoked: ["01", "02"] });

const block = (name: string, der: Buffer): string =>
  `-----BEGIN ${name}-----\n${der.toString("base64").replaceAll(/.{1,64}/g, "$&\n")}-----END ${name}-----\n`;
const derOf = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----.*-----\n?/g, ""), "base64");

interface Part {
  readonly name: string;
  readonly der: Buffer;
}

const certificate = (pem: string): Part => ({ name: "CERTIFICATE", der: derOf(pem) });
const pairs = [leaf, rsa, large].flatMap(({ pem, key }) => {
  const legacy =
    key.asymmetricKeyType === "rsa"
      ? { name: "RSA PRIVATE KEY", der: key.export({ type: "pkcs1", format: "der" }) }
      : { name: "EC PRIVATE KEY", der: key.export({ type: "sec1", format: "der" }) };
  const keys = [{ name: "PRIVATE KEY", der: key.export({ type: "pkcs8", format: "der" }) }, legacy];
  return keys.map((part) => ({ leaf: certificate(pem), key: part }));
});

const names = [
  "CERTIFICATE",
  "X509 CERTIFICATE",
  "TRUSTED CERTIFICATE",
  "X509 CRL",
  "PRIVATE KEY",
  "EC PRIVATE KEY",
  "RSA PRIVATE KEY",
  "DSA PRIVATE KEY",
  "ENCRYPTED PRIVATE KEY",
  "OTHER",
  "",
];

/** Changes of a part: mostly none or of its DER, sometimes of the name of its block or of the text. */
const change: fc.Arbitrary<(part: Part) => string> = fc.oneof(
  {
    weight: 8,
    arbitrary: derChange.map(
      (changed) =>
        ({ name, der }: Part) =>
          block(name, changed(der)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...names).map(
      (name) =>
        ({ der }: Part) =>
          block(name, der),
    ),
  },
  {
    weight: 2,
    arbitrary: textChange.map(
      (changed) =>
        ({ name, der }: Part) =>
          changed(block(name, der)),
    ),
  },
);
const unchanged = ({ name, der }: Part): string => block(name, der);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Certificates with keys, of which one part is changed. */
export const keyPairs: fc.Arbitrary<KeyPair & { readonly text: string }> = fc
  .record({
    pair: fc.constantFrom(...pairs),
    change,
    changed: fc.constantFrom("leaf", "leaf", "key", "key", "issuer"),
    hasIssuer: fc.boolean(),
  })
  .map(({ pair, change: altered, changed, hasIssuer }) => {
    const write = (part: Part, role: string): string => (role === changed ? altered(part) : unchanged(part));
    const chain =
      write(pair.leaf, "leaf") + (hasIssuer || changed === "issuer" ? write(certificate(ca.pem), "issuer") : "");
    const key = write(pair.key, "key");
    return { chain: bytes(chain), key: bytes(key), text: changed === "key" ? key : chain };
  });

/** Root certificates with a revocation list, of which one part is changed. */
export const rootTexts: fc.Arbitrary<RootCertificates & { readonly text: string }> = fc
  .record({
    part: fc.constantFrom(certificate(ca.pem), certificate(rsa.pem), ...pairs.map(({ key }) => key)),
    change,
    isList: fc.boolean(),
  })
  .map(({ part, change: altered, isList }) => {
    const changed = isList ? altered({ name: "X509 CRL", der: derOf(list) }) : altered(part);
    return isList
      ? { certificates: bytes(ca.pem), crl: bytes(changed), text: changed }
      : { certificates: bytes(changed + ca.pem), text: changed };
  });
