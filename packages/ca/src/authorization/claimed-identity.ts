import { identityIn, type SpiffeIdentity } from "../identity/spiffe-identity.js";

export interface ClaimOptions {
  /** Trust domain of this mesh. Identities of other trust domains, including its aliases, are rejected. */
  readonly trustDomain: string;
  /**
   * `false`: authenticated callers may claim any namespace, and have no identity (Istio's
   * PILOT_ENABLE_XDS_IDENTITY_CHECK). Default: true.
   */
  readonly checksClaims?: boolean;
}

/** The workload that a caller claims to be. */
export interface ClaimedWorkload {
  /** Name in messages, such as the ID of an xDS node. */
  readonly id: string;
  readonly namespace: string;
  /** Absent or empty: any of the namespace. */
  readonly serviceAccount?: string | undefined;
}

/** Reason why an authenticated caller is not the workload that it claims to be. */
export type ClaimDenial = "trust_domain" | "identity";

/** The result of authorizing a claim. */
export type ClaimDecision =
  | { readonly allowed: true; readonly identity: Pick<SpiffeIdentity, "namespace" | "serviceAccount"> | undefined }
  | { readonly allowed: false; readonly reason: ClaimDenial; readonly message: string };

/**
 * Decides whether an authenticated caller may act as a workload, such as by an xDS stream: it has an identity of the
 * mesh's trust domain in the workload's namespace, with the service account that the workload claims, if any.
 */
export function authorizeClaim(
  { id, namespace: claimed, serviceAccount: account = "" }: ClaimedWorkload,
  identities: readonly string[],
  { trustDomain, checksClaims = true }: ClaimOptions,
): ClaimDecision {
  const caller = identities.join(", ");
  const identity = identityIn(trustDomain, identities);
  if (identity === undefined) {
    const message = `authorization failed: the caller is ${caller}, the trust domain is ${trustDomain}`;
    return { allowed: false, reason: "trust_domain", message };
  }
  if (!checksClaims) return { allowed: true, identity: undefined };
  const { namespace, serviceAccount } = identity;
  if (namespace !== claimed || (account !== "" && serviceAccount !== account)) {
    const claim = `namespace ${claimed}${account ? ` and service account ${account}` : ""}`;
    const message = `authorization failed: ${id} claims ${claim}; the caller is ${caller}`;
    return { allowed: false, reason: "identity", message };
  }
  return { allowed: true, identity: { namespace, serviceAccount } };
}
