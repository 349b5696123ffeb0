import { Code, ConnectError } from "@connectrpc/connect";
import { authenticate, type Authenticator, CaError, credentialsOf, identityIn, type Peer } from "@istiod/ca";
import type { Proxy, VerifiedIdentity } from "@istiod/push-context";

/** Reason why a stream is rejected, the value of a metric's label. */
export type StreamRejection = "unauthenticated" | "trust_domain" | "identity";

export interface StreamIdentityOptions {
  readonly authenticators: readonly Authenticator[];
  /** Trust domain of this mesh. Identities of other trust domains, including its aliases, are rejected. */
  readonly trustDomain: string;
  /** `false`: no stream is authenticated (Istio's XDS_AUTH). Default: true. */
  readonly isEnabled?: boolean;
  /** Authenticates streams of plaintext connections as well (Istio's XDS_AUTH_PLAINTEXT). Default: false. */
  readonly authenticatesPlaintext?: boolean;
  /**
   * `false`: authenticated callers may claim any namespace, and have no identity (Istio's
   * PILOT_ENABLE_XDS_IDENTITY_CHECK). Default: true.
   */
  readonly checksClaims?: boolean;
  /** Called for each rejected stream, with details that the caller is not told. */
  readonly onRejected?: (proxy: Proxy, peer: Peer, reason: StreamRejection, details: string) => void;
}

/**
 * Returns the authorization of xDS streams. Over TLS a stream is admitted only if the caller is authenticated as an
 * identity of the mesh's trust domain in the proxy's namespace, with the service account that the proxy's metadata
 * names, if any. Streams that are not authenticated, by default those over plaintext, are admitted without an identity:
 * they are served no secrets.
 */
export function streamIdentity(
  options: StreamIdentityOptions,
): (proxy: Proxy, peer: Peer) => Promise<VerifiedIdentity | undefined> {
  const { authenticators, trustDomain, onRejected } = options;
  const { isEnabled = true, authenticatesPlaintext = false, checksClaims = true } = options;
  return async (proxy, peer) => {
    if (!isEnabled || (!peer.tls && !authenticatesPlaintext)) return undefined;
    const reject = (reason: StreamRejection, details: string, error: ConnectError): never => {
      onRejected?.(proxy, peer, reason, details);
      throw error;
    };
    const identities = await authenticate(authenticators, credentialsOf(peer)).then(
      (caller) => caller.identities,
      (error: unknown) => {
        if (!(error instanceof CaError)) throw error;
        return reject(
          "unauthenticated",
          error.message,
          new ConnectError("authentication failure", Code.Unauthenticated),
        );
      },
    );
    const caller = identities.join(", ");
    const identity = identityIn(trustDomain, identities);
    if (identity === undefined) {
      const message = `authorization failed: the caller is ${caller}, the trust domain is ${trustDomain}`;
      return reject("trust_domain", message, new ConnectError(message, Code.PermissionDenied));
    }
    if (!checksClaims) return undefined;
    const { namespace, serviceAccount } = identity;
    const account = proxy.metadata.SERVICE_ACCOUNT ?? "";
    if (namespace !== proxy.namespace || (account !== "" && serviceAccount !== account)) {
      const claim = `namespace ${proxy.namespace}${account ? ` and service account ${account}` : ""}`;
      const message = `authorization failed: ${proxy.nodeId} claims ${claim}; the caller is ${caller}`;
      return reject("identity", message, new ConnectError(message, Code.PermissionDenied));
    }
    return { namespace, serviceAccount };
  };
}
