import { createPublicKey, type KeyObject, type X509Certificate } from "node:crypto";
import { CaError } from "../errors.js";
import { keyTypeOf, parsePrivateKey } from "../keys.js";
import { parseCertificates } from "../pem.js";

/** The PEM texts of a CA. */
export interface SigningBundlePem {
  /** The signing certificate. Further certificates in the text become part of the chain. */
  readonly certificate: string;
  readonly privateKey: string;
  /** Intermediates; may also contain the signing certificate and the roots. */
  readonly chain?: string;
  /** Root certificates: one, or several during a root rotation. */
  readonly roots: string;
}

/** A signing certificate with its key and a verified path to its roots. Immutable. */
export interface SigningBundle {
  readonly certificate: X509Certificate;
  readonly privateKey: KeyObject;
  /** PEM of each certificate to send after a leaf, in order; empty if the signing certificate is a root. */
  readonly chain: readonly string[];
  readonly roots: readonly X509Certificate[];
  /** PEM of all roots, with a newline at its end. */
  readonly rootsPem: string;
  /** Earliest expiry on the path to the root, in milliseconds since the epoch. */
  readonly notAfter: number;
}

/**
 * Parses and checks the parts of a CA: the key belongs to the certificate, the certificate may sign (RFC 5280 §4.2.1.9
 * and §4.2.1.3) and chains to a root, and no certificate on that path has expired.
 *
 * @param where names the origin in messages, such as a directory
 * @param now milliseconds since the epoch
 * @throws CaError `malformed`, `key-mismatch` or `untrusted`
 */
export function signingBundle(pem: SigningBundlePem, where: string, now: number): SigningBundle {
  const [certificate, ...more] = parseCertificates(pem.certificate, `${where}: signing certificate`);
  const extra = pem.chain === undefined ? [] : parseCertificates(pem.chain, `${where}: certificate chain`);
  const roots = parseCertificates(pem.roots, `${where}: root certificates`);
  const privateKey = parsePrivateKey(pem.privateKey, `${where}: private key`);
  if (!certificate) throw new CaError("malformed", `${where}: signing certificate is missing`);
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new CaError(
      "key-mismatch",
      `${where}: the private key does not belong to the signing certificate (${nameOf(certificate)})`,
    );
  }
  const candidates = [...more, ...extra];
  const path = pathToRoot(certificate, candidates, roots, where, now);
  return {
    certificate,
    privateKey,
    chain: chainToSend(certificate, candidates, roots),
    roots,
    rootsPem: roots.map(pemOf).join(""),
    notAfter: Math.min(...path.map((step) => Date.parse(step.validTo))),
  };
}

/** Returns a certificate as one PEM block with a newline at its end. */
export function pemOf(certificate: X509Certificate): string {
  const text = certificate.toString();
  return text.endsWith("\n") ? text : `${text}\n`;
}

function pathToRoot(
  certificate: X509Certificate,
  candidates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  where: string,
  now: number,
): X509Certificate[] {
  const path: X509Certificate[] = [];
  for (let current = certificate; ;) {
    checkMaySign(current, where, now);
    path.push(current);
    if (roots.some((root) => same(root, current))) return path;
    const issuer = [...roots, ...candidates].find(
      (other) => !path.some((seen) => same(seen, other)) && isIssuedBy(current, other),
    );
    if (!issuer) {
      throw new CaError(
        "untrusted",
        `${where}: ${nameOf(current)} does not lead to a root: no certificate of its issuer (${oneLine(current.issuer)}) is given`,
      );
    }
    current = issuer;
  }
}

function checkMaySign(certificate: X509Certificate, where: string, now: number): void {
  if (!certificate.ca)
    throw new CaError(
      "untrusted",
      `${where}: ${nameOf(certificate)} is not a CA certificate, so it may not sign others`,
    );
  if (Date.parse(certificate.validTo) <= now) {
    throw new CaError(
      "untrusted",
      `${where}: ${nameOf(certificate)} expired at ${new Date(certificate.validTo).toISOString()}`,
    );
  }
  if (Date.parse(certificate.validFrom) > now) {
    throw new CaError(
      "untrusted",
      `${where}: ${nameOf(certificate)} is not valid before ${new Date(certificate.validFrom).toISOString()}`,
    );
  }
  keyTypeOf(createPublicKey(certificate.publicKey.export({ type: "spki", format: "pem" })), "malformed");
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/**
 * Returns the certificates that a peer needs between a leaf and a root: the signing certificate first, unless it is a
 * root.
 */
function chainToSend(
  certificate: X509Certificate,
  candidates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
): string[] {
  const ordered = candidates.some((other) => same(other, certificate)) ? candidates : [certificate, ...candidates];
  const unique = ordered.filter((item, index) => ordered.findIndex((other) => same(other, item)) === index);
  const isRoot = roots.some((root) => same(root, certificate));
  return isRoot && unique.length === 1 ? [] : unique.map(pemOf);
}

function same(a: X509Certificate, b: X509Certificate): boolean {
  return a.raw.equals(b.raw);
}

function nameOf(certificate: X509Certificate): string {
  return `certificate ${certificate.subject ? oneLine(certificate.subject) : `with serial ${certificate.serialNumber}`}`;
}

function oneLine(name: string): string {
  return name.replaceAll("\n", ", ");
}
