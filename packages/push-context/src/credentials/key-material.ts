import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { contextField, elementsOf, sequence } from "./der.js";
import { isRevocationList, revocationListExpiry } from "./revocation-list.js";
import type { KeyPair, RootCertificates } from "./certificates.js";

/*
 * Certificates, keys and revocation lists of Secrets and ConfigMaps, as Envoy reads them. Envoy rejects a secret that
 * it cannot read, so istiod does not send it. Reasons reveal no content.
 */

/** Names of PEM blocks of certificates, as OpenSSL reads them. */
const certificateBlocks = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"];
const keyBlocks = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"];
/** Keys that Envoy reads among certificates, too. */
const parsedKeyBlocks = ["RSA PRIVATE KEY", "EC PRIVATE KEY"];
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
  const block = pemBlocks(key).find(({ name, isMalformed }) => isMalformed || keyBlocks.includes(name));
  if (block === undefined) return "the key is not PEM of a private key";
  if (block.name === "ENCRYPTED PRIVATE KEY" || /^Proc-Type:.*ENCRYPTED/m.test(block.text))
    return "the key is encrypted, and there is no password for it";
  const privateKey = block.isMalformed ? undefined : attempt(() => createPrivateKey(block.text));
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
  if (pemBlocks(roots).some(isMalformedPart)) return "a root certificate is malformed";
  if (certificates.length === 0) return "there is no root certificate in PEM";
  if (list === undefined) return undefined;
  const blocks = pemBlocks(list);
  if (blocks.some(isMalformedPart) || typeof certificatesIn(list) === "string") return "a revocation list is malformed";
  const lists = blocks.filter(({ name }) => listBlocks.includes(name));
  if (lists.length === 0) return "there is no revocation list in PEM";
  return undefined;
}

/**
 * Returns the time at which the first of the revocation lists expires, in milliseconds since the Unix epoch. From then
 * on, Envoy rejects the certificates of its issuer. Undefined if none expires.
 */
export function firstListExpiry(list: Uint8Array): number | undefined {
  const expiries = pemBlocks(list)
    .filter(({ name }) => listBlocks.includes(name))
    .flatMap(({ der }) => revocationListExpiry(der) ?? []);
  return expiries.length === 0 ? undefined : Math.min(...expiries);
}

/** Reports whether Envoy rejects roots or revocation lists because of a block, which it reads whatever it needs. */
function isMalformedPart({ name, text, der, isMalformed }: PemBlock): boolean {
  if (isMalformed) return true;
  if (listBlocks.includes(name)) return !isRevocationList(der);
  return parsedKeyBlocks.includes(name) && attempt(() => createPrivateKey(text)) === undefined;
}

/** Returns the certificates of a PEM text, or why one of them is malformed. */
function certificatesIn(pem: Uint8Array): readonly X509Certificate[] | string {
  const found: X509Certificate[] = [];
  for (const { name, der, isMalformed } of pemBlocks(pem)) {
    if (isMalformed) return "is malformed";
    if (!certificateBlocks.includes(name)) continue;
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
  /** The block has no end or another one, or its body is not base64. Envoy rejects the whole text then. */
  readonly isMalformed: boolean;
}

/** Returns the blocks of a PEM text. Lines between blocks are ignored. Reads as BoringSSL does. */
function pemBlocks(bytes: Uint8Array): readonly PemBlock[] {
  const lines = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).split("\n");
  const blocks: PemBlock[] = [];
  for (let at = 0; at < lines.length; at++) {
    const name = /^-----BEGIN (.*)-----\s*$/.exec(lines[at] ?? "")?.[1];
    if (name === undefined) continue;
    const first = at;
    do at++;
    while (at < lines.length && lines[at]?.startsWith("-----END ") === false);
    const end = `-----END ${name}-----`;
    const content = lines.slice(first + 1, at);
    const body = content.join("").replaceAll(/\s/g, "");
    const isBase64 = body.length > 0 && body.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(body);
    // An empty line ends the headers of a block, and these may only be those of an encrypted key.
    const hasHeader = content.slice(1).some((line) => line.trim() === "");
    const isEncrypted = content[0]?.startsWith("Proc-Type:") === true;
    blocks.push({
      name,
      text: [`-----BEGIN ${name}-----`, ...content.map((line) => line.trimEnd()), end, ""].join("\n"),
      der: Buffer.from(body, "base64"),
      isMalformed: lines[at]?.trimEnd() !== end || !((isBase64 && !hasHeader) || isEncrypted),
    });
  }
  return blocks;
}

/** Reports whether bytes have the outline of a successful OCSP response. */
function isOcspResponse(bytes: Uint8Array): boolean {
  const [outer, ...after] = elementsOf(Buffer.from(bytes)) ?? [];
  if (outer?.tag !== sequence || after.length > 0) return false;
  const [status, response, ...more] = elementsOf(outer.content) ?? [];
  const isSuccess = status?.tag === enumerated && status.content.length === 1 && status.content[0] === 0;
  return isSuccess && response?.tag === contextField && more.length === 0;
}

const enumerated = 0x0a;

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
