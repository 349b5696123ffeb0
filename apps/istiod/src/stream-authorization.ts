import { identityIn } from "@istiod/ca";
import type { Proxy, VerifiedIdentity } from "@istiod/push-context";

export interface StreamAuthorizationOptions {
  /** Trust domain of this mesh. Identities of other trust domains, including its aliases, are rejected. */
  readonly trustDomain: string;
  /**
   * `false`: authenticated callers may claim any namespace, and have no identity (Istio's
   * PILOT_ENABLE_XDS_IDENTITY_CHECK). Default: true.
   */
  readonly checksClaims?: boolean;
}

/** Reason why an authenticated caller may not have a stream. */
export type StreamDenial = "trust_domain" | "identity";

/** The result of authorizing a stream. */
export type StreamDecision =
  | { readonly allowed: true; readonly identity: VerifiedIdentity | undefined }
  | { readonly allowed: false; readonly reason: StreamDenial; readonly message: string };

/**
 * Decides whether an authenticated caller may have the stream of a proxy: it has an identity of the mesh's trust domain
 * in the proxy's namespace, with the service account that the proxy's metadata names, if any.
 */
export function authorizeStream(
  { nodeId, namespace: claimed, metadata }: Proxy,
  identities: readonly string[],
  { trustDomain, checksClaims = true }: StreamAuthorizationOptions,
): StreamDecision {
  const caller = identities.join(", ");
  const identity = identityIn(trustDomain, identities);
  if (identity === undefined) {
    const message = `authorization failed: the caller is ${caller}, the trust domain is ${trustDomain}`;
    return { allowed: false, reason: "trust_domain", message };
  }
  if (!checksClaims) return { allowed: true, identity: undefined };
  const { namespace, serviceAccount } = identity;
  const account = metadata.SERVICE_ACCOUNT ?? "";
  if (namespace !== claimed || (account !== "" && serviceAccount !== account)) {
    const claim = `namespace ${claimed}${account ? ` and service account ${account}` : ""}`;
    const message = `authorization failed: ${nodeId} claims ${claim}; the caller is ${caller}`;
    return { allowed: false, reason: "identity", message };
  }
  return { allowed: true, identity: { namespace, serviceAccount } };
}
