import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import type { KeyPair, RootCertificates } from "./certificates.js";

/*
 * Certificates, keys and revocation lists of Secrets and ConfigMaps, as Envoy reads them. Envoy rejects a secret that
 * it cannot read, so istiod does not send it. Reasons reveal no content.
 */

/** Names of PEM blocks of certificates, as OpenSSL reads them. */
const certificateBlocks = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"];
const keyBlocks = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"];
const listBlocks = ["X509 CRL"];
const curves = ["prime256v1", "secp384r1", "secp521r1"];
const leastRsaBits = 2048;

/** Returns the reason for which Envoy rejects a certificate with its key; undefined if it takes them. */
export function keyPairFault({ chain, key, ocspStaple }: KeyPair): string | undefined {
  return (
    certificateFault(chain, key) ??
    (ocspStaple === undefined || isOcspResponse(ocspStaple) ? undefined : "the OCSP staple is malformed")
  );
}

function certificateFault(chain: Uint8Array, key: Uint8Array): string | undefined {
  const certificates = certificatesIn(chain);
  if (typeof certificates === "string") return `the certificate ${certificates}`;
  const [leaf] = certificates;
  if (leaf === undefined) return "the certificate is not PEM";
  const [block] = pemBlocks(key, keyBlocks);
  if (block === undefined) return "the key is not PEM of a private key";
  if (block.name === "ENCRYPTED PRIVATE KEY" || /^Proc-Type:.*ENCRYPTED/m.test(block.text))
    return "the key is encrypted, and there is no password for it";
  const privateKey = attempt(() => createPrivateKey(block.text));
  if (privateKey === undefined) return "the key is malformed";
  return (
    leafFault(leaf.publicKey) ?? (leaf.checkPrivateKey(privateKey) ? undefined : "the key is not the certificate's")
  );
}

/** Returns the fault of a key that servers cannot have. */
function leafFault(key: KeyObject): string | undefined {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "rsa")
    return modulusLength < leastRsaBits
      ? `the key has ${modulusLength} bits, expected at least ${leastRsaBits}`
      : undefined;
  if (key.asymmetricKeyType === "ec")
    return curves.includes(namedCurve ?? "") ? undefined : "the key's curve is not P-256, P-384 or P-521";
  return "the key is neither RSA nor ECDSA";
}

/** Returns the reason for which Envoy rejects root certificates and their revocation list. */
export function rootsFault({ certificates: roots, crl: list }: RootCertificates): string | undefined {
  const certificates = certificatesIn(roots);
  if (typeof certificates === "string") return `a root certificate ${certificates}`;
  if (certificates.length === 0) return "there is no root certificate in PEM";
  if (list === undefined) return undefined;
  const lists = pemBlocks(list, listBlocks);
  if (lists.length === 0) return "there is no revocation list in PEM";
  return lists.every(({ der }) => isRevocationList(der)) ? undefined : "a revocation list is malformed";
}

/** Returns the certificates of a PEM text, or why one of them is malformed. */
function certificatesIn(pem: Uint8Array): readonly X509Certificate[] | string {
  const found: X509Certificate[] = [];
  for (const { der } of pemBlocks(pem, certificateBlocks)) {
    const certificate = attempt(() => new X509Certificate(der));
    if (certificate === undefined || attempt(() => createPublicKey(certificate.toString())) === undefined)
      return "is malformed";
    found.push(certificate);
  }
  return found;
}

interface PemBlock {
  readonly name: string;
  readonly text: string;
  readonly der: Buffer;
}

/** Returns the blocks of a PEM text with one of the given names. */
function pemBlocks(bytes: Uint8Array, names: readonly string[]): readonly PemBlock[] {
  const text = new TextDecoder().decode(bytes);
  const blocks: PemBlock[] = [];
  for (const match of text.matchAll(/^-----BEGIN ([A-Z0-9 ]+)-----[^\S\n]*\n([^-]*)^-----END \1-----/gm)) {
    const [whole, name = "", body = ""] = match;
    if (names.includes(name)) blocks.push({ name, text: `${whole}\n`, der: Buffer.from(body, "base64") });
  }
  return blocks;
}

/** Reports whether bytes have the outline of a revocation list: a list with signature algorithm and signature. */
function isRevocationList(der: Buffer): boolean {
  const [outer, ...after] = elementsOf(der) ?? [];
  if (outer?.tag !== sequence || after.length > 0) return false;
  const [list, algorithm, signature, ...more] = elementsOf(outer.content) ?? [];
  const fields = list?.tag === sequence ? elementsOf(list.content) : undefined;
  return (
    fields !== undefined &&
    fields.length >= 3 &&
    algorithm?.tag === sequence &&
    signature?.tag === bitString &&
    more.length === 0
  );
}

/** Reports whether bytes have the outline of a successful OCSP response. */
function isOcspResponse(bytes: Uint8Array): boolean {
  const [outer, ...after] = elementsOf(Buffer.from(bytes)) ?? [];
  if (outer?.tag !== sequence || after.length > 0) return false;
  const [status, response, ...more] = elementsOf(outer.content) ?? [];
  const isSuccess = status?.tag === enumerated && status.content.length === 1 && status.content[0] === 0;
  return isSuccess && response?.tag === firstField && more.length === 0;
}

const sequence = 0x30;
const enumerated = 0x0a;
const firstField = 0xa0;
const bitString = 0x03;

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/** Returns consecutive elements of DER; undefined if they are malformed. */
function elementsOf(der: Buffer): readonly Element[] | undefined {
  const found: Element[] = [];
  for (let at = 0; at < der.length;) {
    const tag = der[at] ?? 0;
    const first = der[at + 1] ?? 0xff;
    const octets = first < 0x80 ? 0 : first - 0x80;
    if (first === 0x80 || octets > 4 || at + 2 + octets > der.length) return undefined;
    const length = octets === 0 ? first : der.readUIntBE(at + 2, octets);
    const start = at + 2 + octets;
    if (start + length > der.length) return undefined;
    found.push({ tag, content: der.subarray(start, start + length) });
    at = start + length;
  }
  return found;
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
