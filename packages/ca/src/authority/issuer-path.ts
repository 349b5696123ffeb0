import type { X509Certificate } from "node:crypto";
import { reasonOf } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { allowsClientAuthentication, allowsServerAuthentication } from "../identity/certificate-path.js";
import { parseCertificate, type ParsedCertificate } from "../identity/parsed-certificate.js";
import { certificateNames } from "../revocation/certificate-names.js";
import { KeyUsageFlags } from "../x509.js";

/** Maximum number of certificates on a path, and of paths that are tried; bounds the cost of contrived chains. */
const maxPathLength = 9;
const maxAttempts = 64;

/** Names of the texts that certificates come from, for messages. */
export interface CertificateOrigins {
  /** Returns the file, with the position in it, that a certificate comes from. */
  of(certificate: X509Certificate): string;
}

/**
 * Returns the shortest path from a signing certificate to one of the roots, both included. Every certificate on it is
 * valid now and may issue the next one and leaves below it (RFC 5280 §6). All candidates are tried: with cross-signed
 * roots, one of several paths may be invalid.
 *
 * @param now milliseconds since the epoch
 * @throws CaError `untrusted` with the reason of each certificate that ends a path
 */
export function issuerPath(
  certificate: X509Certificate,
  candidates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  origins: CertificateOrigins,
  now: number,
): readonly X509Certificate[] {
  const isRoot = (item: X509Certificate): boolean => roots.some((root) => root.raw.equals(item.raw));
  const failures = new Set<string>();
  const fail = (item: X509Certificate, reason: string): void =>
    void failures.add(`${origins.of(item)}: ${certificateName(item)} ${reason}`);
  const known = unique([...roots, ...candidates]);
  // Breadth first, so that the shortest path is found.
  const paths: X509Certificate[][] = [[certificate]];
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    const path = paths.shift();
    const last = path?.at(-1);
    if (path === undefined || last === undefined) break;
    const problem = problemOf(path, now);
    if (problem !== undefined) {
      fail(last, problem);
      continue;
    }
    if (isRoot(last)) return path;
    const issuers = known.filter(
      (other) => !path.some((seen) => seen.raw.equals(other.raw)) && isIssuedBy(last, other),
    );
    if (issuers.length === 0)
      fail(last, `does not lead to a root: no certificate of its issuer (${oneLine(last.issuer)}) is given`);
    if (path.length < maxPathLength) paths.push(...issuers.map((issuer) => [...path, issuer]));
    else fail(last, `does not lead to a root within ${maxPathLength} certificates`);
  }
  if (failures.size === 0) fail(certificate, `does not lead to a root on the first ${maxAttempts} paths`);
  throw new CaError("untrusted", [...failures].join("; "));
}

/** Checks that a certificate may be trusted as a root. @throws CaError `untrusted` */
export function checkRoot(root: X509Certificate, origins: CertificateOrigins): void {
  const reject = (reason: string): never => {
    throw new CaError("untrusted", `${origins.of(root)}: ${certificateName(root)} ${reason}`);
  };
  const parsed = readable(root);
  if (typeof parsed === "string") return reject(parsed);
  if (!parsed.isCa) return reject("is not a CA certificate, so it is no root");
}

/** Returns the reason why the last certificate of a path may not issue the others, if any. */
function problemOf(path: readonly X509Certificate[], now: number): string | undefined {
  const last = path.at(-1);
  if (last === undefined) return undefined;
  const parsed = readable(last);
  if (typeof parsed === "string") return parsed;
  if (!parsed.isCa) return "is not a CA certificate, so it may not sign others";
  if (parsed.keyUsages !== undefined && (parsed.keyUsages & KeyUsageFlags.keyCertSign) === 0)
    return "may not sign certificates: its key usage lacks keyCertSign";
  if (!allowsClientAuthentication(parsed) || !allowsServerAuthentication(parsed))
    return "may not issue workload certificates: its extended key usage lacks serverAuth or clientAuth";
  // Certificates that a CA issued to itself do not count (RFC 5280 §4.2.1.9).
  const below = path.slice(0, -1).filter(({ subject, issuer }) => subject !== issuer).length;
  if (parsed.pathLength !== undefined && below > parsed.pathLength)
    return `allows ${parsed.pathLength} intermediates below it (pathLenConstraint), there are ${below}`;
  if (now > parsed.notAfter) return `expired at ${new Date(parsed.notAfter).toISOString()}`;
  if (now < parsed.notBefore) return `is not valid before ${new Date(parsed.notBefore).toISOString()}`;
  return undefined;
}

function readable(certificate: X509Certificate): ParsedCertificate | string {
  try {
    return parseCertificate(certificate);
  } catch (error) {
    return `is not usable: ${reasonOf(error)}`;
  }
}

/** Returns the subject of a certificate in one line, or its serial number if it has none. */
export function certificateName(certificate: X509Certificate): string {
  return `certificate ${certificate.subject ? oneLine(certificate.subject) : `with serial ${certificate.serialNumber}`}`;
}

/** Returns the certificates without those that repeat an earlier one. */
export function unique(certificates: readonly X509Certificate[]): X509Certificate[] {
  return certificates.filter((item, index) => certificates.findIndex((other) => other.raw.equals(item.raw)) === index);
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  // Compares names only, so that an issuer that may not issue is found, and its fault is reported.
  return (
    certificateNames(certificate).issuer === certificateNames(issuer).subject && certificate.verify(issuer.publicKey)
  );
}

function oneLine(name: string): string {
  return name.replaceAll("\n", ", ");
}
