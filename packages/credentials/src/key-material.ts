import {
  allowsSignatures,
  mustStaple,
  namesServer,
  type Certificate,
  parseCertificate,
  parseTrustedCertificate,
  publicKeyOf,
} from "./certificate.js";
import type { KeyPair, RootCertificates } from "./certificates.js";
import { isOcspResponse } from "./ocsp-response.js";
import { isEncryption, type PemBlock, pemBlocks } from "./pem.js";
import { publicKeyOfPrivate } from "./private-key.js";
import { bitLength, type PublicKey } from "./public-key.js";
import { parseRevocationList, type RevocationList } from "./revocation-list.js";

/*
 * Certificates, keys and revocation lists of Secrets and ConfigMaps, as Envoy reads them. Envoy rejects a secret that
 * it cannot read, so istiod does not send it. Reasons reveal no content.
 */

/** Names of PEM blocks of certificates. */
const certificateBlocks = ["CERTIFICATE", "X509 CERTIFICATE"];
const trustedBlock = "TRUSTED CERTIFICATE";
const keyBlocks = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY"];
/** Keys that Envoy reads among root certificates, too. */
const parsedKeyBlocks = ["RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"];
const listBlock = "X509 CRL";
const leastRsaBits = 2048;

/** Uses of a certificate. Envoy requires more of the certificate of a server. */
export type CertificateUse = "client" | "server";

/** The verdict on a certificate with a key. */
interface Verdict {
  readonly key: Uint8Array;
  readonly ocspStaple: Uint8Array | undefined;
  readonly use: CertificateUse;
  readonly fault: string | undefined;
}

/**
 * Verdicts on the content of Secrets, by the certificate. Reading a key takes a millisecond, and analysis and each of
 * the proxies ask for it.
 */
const verdicts = new WeakMap<Uint8Array, Verdict[]>();

/**
 * Returns the reason for which Envoy rejects a certificate with its key for a use; undefined if it accepts them. The
 * content must not be changed afterwards.
 */
export function keyPairFault(pair: KeyPair, use: CertificateUse): string | undefined {
  const { chain, key, ocspStaple } = pair;
  const known = verdicts.get(chain) ?? [];
  const found = known.find((one) => one.key === key && one.ocspStaple === ocspStaple && one.use === use);
  if (found !== undefined) return found.fault;
  const fault =
    certificateFault(pair, use) ??
    (ocspStaple === undefined || isOcspResponse(ocspStaple) ? undefined : "the OCSP staple is malformed");
  verdicts.set(chain, [...known, { key, ocspStaple, use, fault }]);
  return fault;
}

function certificateFault(pair: KeyPair, use: CertificateUse): string | undefined {
  const read = readKeyPair(pair);
  if ("fault" in read) return read.fault;
  return keyFault(read.leaf, read.key) ?? (use === "server" ? serverFault(read.leaf, pair.ocspStaple) : undefined);
}

/**
 * Returns the reason for which a certificate and a key are malformed, or do not belong together; undefined if Envoy can
 * read them, although it may not accept them.
 */
export function malformedKeyPairFault(pair: KeyPair): string | undefined {
  const read = readKeyPair(pair);
  return "fault" in read ? read.fault : undefined;
}

type ReadKeyPair = { readonly leaf: Certificate; readonly key: PublicKey } | { readonly fault: string };

function readKeyPair({ chain, key }: KeyPair): ReadKeyPair {
  const leaf = leafOf(chain);
  if (leaf === undefined) return { fault: "the certificate is not PEM" };
  if (leaf === "malformed") return { fault: "the certificate is malformed" };
  const block = pemBlocks(key).find(({ name, isMalformed }) => isMalformed || keyBlocks.includes(name));
  if (block === undefined) return { fault: "the key is not PEM of a private key" };
  if (block.name === "ENCRYPTED PRIVATE KEY" || isEncryption(block.header))
    return { fault: "the key is encrypted, and there is no password for it" };
  const certified = publicKeyOf(leaf);
  if (certified === undefined) return { fault: "the key is neither RSA, nor ECDSA with P-256, P-384 or P-521" };
  const own = block.isMalformed || block.header !== "" ? undefined : publicKeyOfPrivate(block.name, block.der);
  if (own === undefined) return { fault: "the key is malformed" };
  return isEqual(own, certified) ? { leaf, key: certified } : { fault: "the key is not the certificate's" };
}

/** Returns the fault of a certificate that only servers cannot have. */
function serverFault(leaf: Certificate, ocspStaple: Uint8Array | undefined): string | undefined {
  if (!namesServer(leaf))
    return "the certificate has neither a common name nor a DNS name, URI or IP address as SAN, which servers need";
  if (ocspStaple === undefined && mustStaple(leaf)) return "the certificate needs an OCSP staple, and there is none";
  return undefined;
}

/** Returns the fault of a key that Envoy does not accept in a certificate. */
function keyFault(leaf: Certificate, key: PublicKey): string | undefined {
  if (key.type === "rsa") {
    const bits = bitLength(key.modulus);
    return bits < leastRsaBits ? `the key has ${bits} bits, expected at least ${leastRsaBits}` : undefined;
  }
  if (key.type !== "ec") return "the key is neither RSA nor ECDSA";
  if (key.curve === "secp224r1") return "the key's curve is not P-256, P-384 or P-521";
  return allowsSignatures(leaf) ? undefined : "the certificate's key usage does not allow digital signatures";
}

function isEqual(a: PublicKey, b: PublicKey): boolean {
  if (a.type === "rsa") return b.type === "rsa" && a.modulus === b.modulus && a.exponent === b.exponent;
  if (a.type === "ec") return b.type === "ec" && a.curve === b.curve && a.point.equals(b.point);
  return b.type === a.type && a.point.equals(b.point);
}

/** Returns the first certificate of a chain, all of which are read. Undefined if there is none. */
function leafOf(chain: Uint8Array): Certificate | "malformed" | undefined {
  let leaf: Certificate | undefined;
  for (const { name, der, header, isMalformed } of pemBlocks(chain)) {
    if (isMalformed) return "malformed";
    if (!certificateBlocks.includes(name) && (leaf !== undefined || name !== trustedBlock)) continue;
    const certificate = leaf === undefined ? parseTrustedCertificate(der) : parseCertificate(der);
    if (header !== "" || certificate === undefined) return "malformed";
    leaf ??= certificate;
  }
  return leaf;
}

/** Returns the reason for which Envoy rejects root certificates and their revocation list. */
export function rootsFault({ certificates: roots, crl: list }: RootCertificates): string | undefined {
  const blocks = pemBlocks(roots);
  if (blocks.some(isMalformedPart)) return "a root certificate is malformed";
  if (!blocks.some(({ name }) => certificateBlocks.includes(name) || name === trustedBlock))
    return "there is no root certificate in PEM";
  return list === undefined ? undefined : revocationListsFault(list);
}

/** Returns the reason for which Envoy rejects revocation lists; undefined if it accepts them. */
export function revocationListsFault(list: Uint8Array): string | undefined {
  const lists = pemBlocks(list);
  if (lists.some(isMalformedPart)) return "a revocation list is malformed";
  return lists.some(({ name }) => name === listBlock) ? undefined : "there is no revocation list in PEM";
}

/**
 * Returns the time at which the first of the revocation lists expires, in milliseconds since the Unix epoch. From then
 * on, Envoy rejects the certificates of its issuer. Undefined if none expires.
 */
export function firstListExpiry(list: Uint8Array): number | undefined {
  const expiries = revocationLists(list).flatMap(({ nextUpdate }) => nextUpdate ?? []);
  return expiries.length === 0 ? undefined : Math.min(...expiries);
}

function revocationLists(list: Uint8Array): readonly RevocationList[] {
  return pemBlocks(list)
    .filter(({ name, isMalformed }) => name === listBlock && !isMalformed)
    .flatMap(({ der }) => parseRevocationList(der) ?? []);
}

/** Reports whether Envoy rejects roots or revocation lists because of a block, which it reads whatever it needs. */
function isMalformedPart({ name, der, header, isMalformed }: PemBlock): boolean {
  if (isMalformed) return true;
  const isKey = parsedKeyBlocks.includes(name);
  // An encrypted key is not decrypted there.
  if (isKey && header.length > 10) return !isEncryption(header);
  if (isKey) return header !== "" || publicKeyOfPrivate(name, der) === undefined;
  if (certificateBlocks.includes(name)) return header !== "" || parseCertificate(der) === undefined;
  if (name === trustedBlock) return header !== "" || parseTrustedCertificate(der) === undefined;
  return name === listBlock && (header !== "" || parseRevocationList(der) === undefined);
}
