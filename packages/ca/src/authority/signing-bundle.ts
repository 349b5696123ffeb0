import type { KeyObject, X509Certificate } from "node:crypto";
import { CaError } from "../errors.js";
import { parsePrivateKey } from "../keys.js";
import { parseCertificates } from "../pem.js";
import type { RevocationList } from "../revocation/revocation-list.js";
import { certificateName, type CertificateOrigins, checkRoot, issuerPath, unique } from "./issuer-path.js";

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

/** Names of the texts in messages. */
export type SigningBundleNames = Readonly<Record<keyof SigningBundlePem, string>>;

/** The certificates that verify what an authority signs. Immutable. */
export interface AuthorityBundle {
  /** PEM of each certificate to send after a leaf, in order; empty if the signing certificate is a root. */
  readonly chain: readonly string[];
  readonly roots: readonly X509Certificate[];
  /** PEM of all roots, with a newline at its end. */
  readonly rootsPem: string;
  /** Earliest expiry on the path to the root, in milliseconds since the epoch. */
  readonly notAfter: number;
  /** Empty if nothing is checked for revocation. */
  readonly revocationLists: readonly RevocationList[];
  /** PEM of the revocation lists; empty if there are none. */
  readonly revocationListsPem: string;
  /**
   * Reason why the operator's revocation lists are not used. The last good ones stay active; without any, it is unknown
   * which certificates are revoked.
   */
  readonly revocationProblem?: string;
}

/** A signing certificate with its key and a verified path to its roots. Immutable. */
export interface SigningBundle extends AuthorityBundle {
  readonly certificate: X509Certificate;
  readonly privateKey: KeyObject;
  /** The root that the path leads to. */
  readonly anchor: X509Certificate;
  /** The signing certificate, those above it, and all roots, each once. */
  readonly authorities: readonly X509Certificate[];
}

/** An authority whose certificates others trust. */
export interface TrustSource {
  /** The current certificates. */
  readonly bundle: AuthorityBundle;
  /** Calls `listener` after each change of the certificates. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/**
 * Parses and checks the parts of a CA: the key belongs to the certificate, the certificate may sign and chains to a
 * root, and no certificate on that path has expired (RFC 5280 §6). The bundle has no revocation lists.
 *
 * @param where names the origin in messages, such as a directory; or the origin of each text
 * @param now milliseconds since the epoch
 * @throws CaError `malformed`, `key-mismatch` or `untrusted`
 */
export function signingBundle(pem: SigningBundlePem, where: string | SigningBundleNames, now: number): SigningBundle {
  const names = typeof where === "string" ? namesIn(where) : where;
  const [certificate, ...more] = parseCertificates(pem.certificate, names.certificate);
  const extra = pem.chain === undefined ? [] : parseCertificates(pem.chain, names.chain);
  const roots = parseCertificates(pem.roots, names.roots);
  const privateKey = parsePrivateKey(pem.privateKey, names.privateKey);
  if (!certificate) throw new CaError("malformed", `${names.certificate}: the certificate is missing`);
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new CaError(
      "key-mismatch",
      `${names.privateKey}: the private key does not belong to the signing certificate (${certificateName(certificate)} in ${names.certificate})`,
    );
  }
  const origins = originsOf([
    [names.certificate, [certificate, ...more]],
    [names.chain, extra],
    [names.roots, roots],
  ]);
  for (const root of roots) checkRoot(root, origins);
  const candidates = [...more, ...extra];
  const path = issuerPath(certificate, candidates, roots, origins, now);
  return {
    certificate,
    privateKey,
    chain: chainToSend(certificate, candidates, roots),
    roots,
    rootsPem: roots.map(pemOf).join(""),
    notAfter: Math.min(...path.map((step) => Date.parse(step.validTo))),
    anchor: path.at(-1) ?? certificate,
    authorities: unique([...path, ...roots]),
    revocationLists: [],
    revocationListsPem: "",
  };
}

function namesIn(where: string): SigningBundleNames {
  return {
    certificate: `${where}: signing certificate`,
    privateKey: `${where}: private key`,
    chain: `${where}: certificate chain`,
    roots: `${where}: root certificates`,
  };
}

function originsOf(texts: readonly (readonly [string, readonly X509Certificate[]])[]): CertificateOrigins {
  return {
    of(certificate) {
      for (const [name, certificates] of texts) {
        const index = certificates.findIndex((item) => same(item, certificate));
        if (index >= 0) return certificates.length === 1 ? name : `${name}: certificate ${index + 1}`;
      }
      return "certificate";
    },
  };
}

/** Returns a certificate as one PEM block with a newline at its end. */
export function pemOf(certificate: X509Certificate): string {
  const text = certificate.toString();
  return text.endsWith("\n") ? text : `${text}\n`;
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
  const chain = unique(ordered);
  const isRoot = roots.some((root) => same(root, certificate));
  return isRoot && chain.length === 1 ? [] : chain.map(pemOf);
}

function same(a: X509Certificate, b: X509Certificate): boolean {
  return a.raw.equals(b.raw);
}
