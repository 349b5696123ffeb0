import { X509Certificate } from "node:crypto";
import type { AuthorityBundle } from "../authority/signing-bundle.js";
import { CaError } from "../errors.js";
import type { RevocationList } from "../revocation/revocation-list.js";
import { KeyUsageFlags } from "../x509.js";
import { allowsClientAuthentication, verifyCertificatePath } from "./certificate-path.js";
import { parseCertificate, type ParsedCertificate } from "./parsed-certificate.js";
import { parseSpiffeUri, sanitizedTrustDomain, type SpiffeIdentity } from "./spiffe-identity.js";

/** The root certificates of a trust domain. Certificates that they issue prove identities of this trust domain only. */
export interface TrustBundle {
  readonly trustDomain: string;
  readonly roots: readonly X509Certificate[];
  /** Intermediates that clients may omit, such as the chain of the server's own authority. */
  readonly intermediates?: readonly X509Certificate[];
  /** Revocation lists of all CAs of the trust domain. Default: certificates are not checked for revocation. */
  readonly revocationLists?: readonly RevocationList[];
  /** Reason why it is unknown which certificates are revoked. Absent: the lists tell. */
  readonly revocationUnknown?: string;
}

/** Returns the trust bundle of an authority's certificates. Equal bundles give the same object. */
export function trustBundleOf(trustDomain: string, bundle: AuthorityBundle): TrustBundle {
  let byTrustDomain = trustBundles.get(bundle);
  if (byTrustDomain === undefined) trustBundles.set(bundle, (byTrustDomain = new Map()));
  let found = byTrustDomain.get(trustDomain);
  if (found === undefined) {
    const { revocationLists, revocationProblem } = bundle;
    const isUnknown = revocationProblem !== undefined && revocationLists.length === 0;
    const intermediates = bundle.chain.map((pem) => new X509Certificate(pem));
    found = {
      trustDomain,
      roots: bundle.roots,
      intermediates,
      revocationLists,
      ...(isUnknown && { revocationUnknown: revocationProblem }),
    };
    byTrustDomain.set(trustDomain, found);
  }
  return found;
}

const trustBundles = new WeakMap<AuthorityBundle, Map<string, TrustBundle>>();

/** Maximum number of certificates that a client may present. */
const maxPresented = 16;

/**
 * Returns the identity in a client certificate, verified against the roots of the trust domain that it names, as
 * SPIFFE's X.509-SVID (§§3–5) and Istio's `PeerCertVerifier` (pkg/spiffe/spiffe.go) have it.
 *
 * @param chain DER, leaf first
 * @param now milliseconds since the epoch
 * @throws CaError `identity` if the certificate does not have exactly one URI, which is a workload identity;
 *   `untrusted` if no root of its trust domain has issued it for clients
 */
export function verifiedIdentity(
  chain: readonly Uint8Array[],
  bundles: readonly TrustBundle[],
  now: number,
): SpiffeIdentity {
  if (chain.length > maxPresented)
    throw new CaError("untrusted", `${chain.length} certificates are presented, at most ${maxPresented} are accepted`);
  const [first, ...intermediates] = chain.map(readDer);
  if (first === undefined) throw new CaError("untrusted", "no certificate is presented");
  const leaf = parseCertificate(first);
  const identity = identityOf(leaf);
  checkLeaf(leaf);
  const { trustDomain } = identity;
  const own = bundles.filter((bundle) => sanitizedTrustDomain(bundle.trustDomain) === trustDomain);
  if (own.length === 0)
    throw new CaError("untrusted", `there are no root certificates for trust domain ${trustDomain}`);
  const unknown = own.find(({ revocationUnknown }) => revocationUnknown !== undefined);
  if (unknown !== undefined)
    throw new CaError("untrusted", `it is unknown which certificates are revoked: ${unknown.revocationUnknown}`);
  verifyCertificatePath(leaf, {
    intermediates: [...intermediates, ...own.flatMap((bundle) => bundle.intermediates ?? [])],
    roots: own.flatMap(({ roots }) => roots),
    revocationLists: own.flatMap(({ revocationLists = [] }) => revocationLists),
    uriHost: trustDomain,
    now,
  });
  return identity;
}

function readDer(der: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (error) {
    throw CaError.from(error, "untrusted", "certificate cannot be read");
  }
}

/** Returns the only URI of a certificate. Other subject alternative names do not count. */
function identityOf({ uris }: ParsedCertificate): SpiffeIdentity {
  const [uri] = uris;
  if (uri === undefined || uris.length > 1)
    throw new CaError("identity", `client certificate has ${uris.length} URIs, expected exactly one`);
  return parseSpiffeUri(uri);
}

/** Checks the constraints and usages of a leaf (X.509-SVID §§4.1–4.4). */
function checkLeaf(leaf: ParsedCertificate): void {
  if (leaf.isCa) throw new CaError("untrusted", "client certificate is a CA certificate");
  const { digitalSignature, keyCertSign, cRLSign } = KeyUsageFlags;
  if (leaf.keyUsages !== undefined && (leaf.keyUsages & (keyCertSign | cRLSign)) !== 0)
    throw new CaError("untrusted", "client certificate may sign certificates or revocation lists");
  if (leaf.keyUsages !== undefined && (leaf.keyUsages & digitalSignature) === 0)
    throw new CaError("untrusted", "client certificate is not for digital signatures");
  if (!allowsClientAuthentication(leaf))
    throw new CaError("untrusted", "client certificate is not for client authentication");
}
