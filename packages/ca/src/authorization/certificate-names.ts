import type { IstioCertificateRequest } from "@istiod/istio-api/security/v1alpha1/ca";
import { reasonOf } from "@istiod/runtime";
import { CaError } from "../errors.js";
import type { Caller } from "../identity/authenticator.js";
import { identityIn, parseSpiffeUri, type SpiffeIdentity, spiffeUri } from "../identity/spiffe-identity.js";

/**
 * Decides whether a caller may have a certificate of another identity, as an agent of a node needs for the Pods on its
 * node. @throws CaError `impersonation` if it may not
 */
export type AuthorizeImpersonation = (caller: Caller, identity: SpiffeIdentity) => void;

export interface CertificateNamesOptions {
  /** The only trust domain whose identities are certified. */
  readonly trustDomain: string;
  /** Default: no caller may impersonate another identity. */
  readonly authorizeImpersonation?: AuthorizeImpersonation;
}

/**
 * Returns the one name of the certificate that an authenticated caller may have: its own identity, or the one that it
 * may impersonate. Names in the CSR do not count. Any further rule on requests belongs here.
 *
 * @throws CaError `unauthenticated` for a caller of another trust domain, `impersonation`
 */
export function authorizedNames(
  { metadata }: Pick<IstioCertificateRequest, "metadata">,
  caller: Caller,
  { trustDomain, authorizeImpersonation }: CertificateNamesOptions,
): readonly string[] {
  const own = identityIn(trustDomain, caller.identities);
  if (own === undefined)
    throw new CaError(
      "unauthenticated",
      `${caller.identities.join(", ")}: not an identity of trust domain ${trustDomain}`,
    );
  const impersonated = metadata?.["ImpersonatedIdentity"];
  if (typeof impersonated !== "string" || impersonated === "") return [spiffeUri(own)];
  const refused = (reason: string, cause?: unknown): CaError =>
    new CaError("impersonation", `${spiffeUri(own)} may not impersonate ${JSON.stringify(impersonated)}: ${reason}`, {
      cause,
    });
  const identity = identityOf(impersonated, trustDomain);
  if (identity === undefined) throw refused(`not an identity of trust domain ${trustDomain}`);
  if (authorizeImpersonation === undefined) throw refused("no account is trusted with it (CA_TRUSTED_NODE_ACCOUNTS)");
  try {
    authorizeImpersonation(caller, identity);
  } catch (error) {
    throw refused(reasonOf(error), error);
  }
  return [spiffeUri(identity)];
}

function identityOf(uri: string, trustDomain: string): SpiffeIdentity | undefined {
  try {
    return identityIn(trustDomain, [spiffeUri(parseSpiffeUri(uri))]);
  } catch {
    return undefined;
  }
}
