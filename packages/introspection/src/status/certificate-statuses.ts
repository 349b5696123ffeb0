import { X509Certificate } from "node:crypto";
import type { CertificateAuthority, ServingTls, SignerAuthority, TrustSource } from "@istiod/ca";
import type { CertificateStatus } from "@istiod/status-page";

/** The authority that signs istiod's own certificate, and whose roots are distributed. */
export interface AuthorityState {
  readonly authority: Pick<CertificateAuthority | SignerAuthority, "bundle">;
  /**
   * When its own root should have been renewed at the latest, in milliseconds since the epoch. Absent: an operator
   * renews it.
   */
  readonly renewalDue?: (root: X509Certificate) => number;
  /** File of the revocation lists. Absent: none are read. */
  readonly revocationListsFile?: string;
}

/**
 * The certificates of this istiod: roots, what is between them and the signing one, and the one that it serves with.
 */
export function certificateStatuses(
  running: AuthorityState | undefined,
  serving: ServingTls | undefined,
  external: TrustSource | undefined,
): readonly CertificateStatus[] {
  const bundle = running?.authority.bundle;
  const { roots, chain } = bundle ?? { roots: [], chain: [] };
  const certificate = bundle !== undefined && "certificate" in bundle ? bundle.certificate : undefined;
  const above = [...(certificate === undefined ? [] : [certificate]), ...chain.map((pem) => new X509Certificate(pem))];
  const between = new Map(
    above.filter((each) => !roots.some((root) => isSame(root, each))).map((each) => [each.fingerprint256, each]),
  );
  return [
    ...roots.map((root) =>
      status(
        "Root",
        root,
        certificate !== undefined && isSame(root, certificate) ? running?.renewalDue?.(root) : undefined,
      ),
    ),
    ...[...between.values()].map((each) =>
      status(
        certificate !== undefined && isSame(each, certificate)
          ? "Signing certificate of the plugged-in CA"
          : "Intermediate of the plugged-in CA",
        each,
      ),
    ),
    ...(external?.bundle.roots ?? []).map((root) => status("Root of the external CA", root)),
    ...(serving === undefined
      ? []
      : [status("Serving certificate", new X509Certificate(serving.cert), serving.renewalDue)]),
  ];
}

function isSame(a: X509Certificate, b: X509Certificate): boolean {
  return a.raw.equals(b.raw);
}

/** @param renewalDue when istiod itself should have renewed it */
function status(role: string, certificate: X509Certificate, renewalDue?: number): CertificateStatus {
  const { subject, subjectAltName = "", validFrom, validTo } = certificate;
  const name =
    (subject as string | undefined)?.replaceAll("\n", ", ") ||
    subjectAltName.replaceAll(/\b(?:DNS|URI|IP Address):/g, "");
  return {
    role,
    subject: name,
    notBefore: Date.parse(validFrom),
    notAfter: Date.parse(validTo),
    ...(renewalDue !== undefined && { renewalDue }),
  };
}
