import type { X509Certificate } from "node:crypto";
import { reasonOf } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { checkRevocation } from "../revocation/revocation-check.js";
import type { RevocationList } from "../revocation/revocation-list.js";
import { ExtendedKeyUsage, KeyUsageFlags } from "../x509.js";
import { parseCertificate, type ParsedCertificate } from "./parsed-certificate.js";

/** Maximum number of certificates between a leaf and its root. */
const maxIntermediates = 8;

/** Maximum number of signatures that are checked for one leaf; bounds the cost of contrived chains. */
const maxSignatureChecks = 32;

export interface CertificatePathOptions {
  /** Intermediates that the peer presented or that the server knows; they need not be trusted. */
  readonly intermediates: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
  /** Revocation lists of all issuers; without any, nothing is checked for revocation. */
  readonly revocationLists?: readonly RevocationList[];
  /** Host of the leaf's URI, which name constraints of CAs apply to. Undefined: the leaf has no URI. */
  readonly uriHost: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Verifies that a client certificate leads to one of the roots (RFC 5280 §6): signatures, validity, CA flags, key
 * usages, path lengths, extended key usages, constraints on URIs, and revocation. TLS verifies the chain
 * against all roots of a server; this verifies it against the roots of one trust domain.
 *
 * @throws CaError `untrusted` with the reason
 */
export function verifyCertificatePath(leaf: ParsedCertificate, options: CertificatePathOptions): void {
  checkValidity(leaf, "client certificate", options.now);
  const search = { ...options, checks: 0 };
  const failures = new Set<string>();
  if (!leadsToRoot([leaf], search, failures))
    throw new CaError("untrusted", [...failures].join("; ") || "no trusted root has issued the client certificate");
}

interface Search extends CertificatePathOptions {
  checks: number;
}

/** Reports whether a path can be completed. Reasons why candidates are not accepted are added to `failures`. */
function leadsToRoot(path: readonly ParsedCertificate[], search: Search, failures: Set<string>): boolean {
  const last = path.at(-1);
  if (last === undefined) return false;
  if (search.roots.some((root) => isAcceptableIssuer(path, last, root, search, failures))) return true;
  if (path.length > maxIntermediates) return false;
  return search.intermediates.some((candidate) => {
    const isRepeated = path.some(({ certificate }) => certificate.raw.equals(candidate.raw));
    return (
      !isRepeated &&
      isAcceptableIssuer(path, last, candidate, search, failures) &&
      leadsToRoot([...path, parseCertificate(candidate)], search, failures)
    );
  });
}

function isAcceptableIssuer(
  path: readonly ParsedCertificate[],
  { certificate }: ParsedCertificate,
  issuer: X509Certificate,
  search: Search,
  failures: Set<string>,
): boolean {
  if (!certificate.checkIssued(issuer)) return false;
  if (++search.checks > maxSignatureChecks) {
    failures.add("the chain has too many candidates");
    return false;
  }
  try {
    const parsed = parseCertificate(issuer);
    if (!certificate.verify(issuer.publicKey)) return false;
    checkIssuer(path, parsed, search);
    checkRevocation(certificate, issuer, search.revocationLists ?? [], search.now);
    return true;
  } catch (error) {
    failures.add(`${nameOf(issuer)}: ${reasonOf(error)}`);
    return false;
  }
}

/** @throws CaError `untrusted` if a certificate may not be the issuer of the path */
function checkIssuer(path: readonly ParsedCertificate[], issuer: ParsedCertificate, { uriHost, now }: Search): void {
  checkValidity(issuer, "certificate", now);
  if (!issuer.isCa) throw new CaError("untrusted", "is not a CA certificate");
  if (issuer.keyUsages !== undefined && (issuer.keyUsages & KeyUsageFlags.keyCertSign) === 0)
    throw new CaError("untrusted", "may not sign certificates");
  // Certificates that a CA issued to itself do not count (RFC 5280 §4.2.1.9).
  const below = path.slice(1).filter(({ certificate }) => certificate.subject !== certificate.issuer).length;
  if (issuer.pathLength !== undefined && below > issuer.pathLength)
    throw new CaError("untrusted", `allows ${issuer.pathLength} intermediates, the chain has ${below}`);
  if (!allowsClientAuthentication(issuer)) throw new CaError("untrusted", "does not allow client authentication");
  if (uriHost === undefined) return;
  const { permitted, excluded } = issuer.uriConstraints;
  if (
    excluded.some((host) => isWithin(uriHost, host)) ||
    (permitted.length > 0 && !permitted.some((host) => isWithin(uriHost, host)))
  )
    throw new CaError("untrusted", `may not issue identities of trust domain ${uriHost}`);
}

/** Reports whether a certificate may be used by TLS clients, or issue certificates that may. */
export function allowsClientAuthentication({ extendedKeyUsages }: ParsedCertificate): boolean {
  return (
    extendedKeyUsages === undefined ||
    extendedKeyUsages.some((usage) => usage === ExtendedKeyUsage.clientAuth || usage === anyExtendedKeyUsage)
  );
}

/** Reports whether a certificate may be used by TLS servers, or issue certificates that may. */
export function allowsServerAuthentication({ extendedKeyUsages }: ParsedCertificate): boolean {
  return (
    extendedKeyUsages === undefined ||
    extendedKeyUsages.some((usage) => usage === ExtendedKeyUsage.serverAuth || usage === anyExtendedKeyUsage)
  );
}

const anyExtendedKeyUsage = "2.5.29.37.0";

function checkValidity({ notBefore, notAfter }: ParsedCertificate, what: string, now: number): void {
  if (now < notBefore)
    throw new CaError("untrusted", `${what} is not valid before ${new Date(notBefore).toISOString()}`);
  if (now > notAfter) throw new CaError("untrusted", `${what} expired at ${new Date(notAfter).toISOString()}`);
}

/** Reports whether a host satisfies a constraint on URIs (RFC 5280 §4.2.1.10). */
function isWithin(host: string, constraint: string): boolean {
  return constraint.startsWith(".") ? host.endsWith(constraint) : host === constraint;
}

function nameOf({ subject, serialNumber }: X509Certificate): string {
  return subject ? subject.replaceAll("\n", ", ") : `certificate with serial ${serialNumber}`;
}
