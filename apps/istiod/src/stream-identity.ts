import { Code, ConnectError } from "@connectrpc/connect";
import { authenticate, type Authenticator, CaError, credentialsOf, identityIn, type Peer } from "@istiod/ca";
import type { Proxy, VerifiedIdentity } from "@istiod/push-context";

/** Reason why a stream is rejected, the value of a metric's label. */
export type StreamRejection = "unauthenticated" | "trust_domain" | "identity";

export interface StreamIdentityOptions {
  readonly authenticators: readonly Authenticator[];
  /** Trust domain of this mesh. Identities of other trust domains, including its aliases, are rejected. */
  readonly trustDomain: string;
  /** Called for each rejected stream, with details that the caller is not told. */
  readonly onRejected?: (proxy: Proxy, peer: Peer, reason: StreamRejection, details: string) => void;
}

/**
 * Returns the authorization of xDS streams. Over TLS a stream is admitted only if the caller is authenticated as an
 * identity of the mesh's trust domain in the proxy's namespace, with the service account that the proxy's metadata
 * names, if any. Over plaintext every stream is admitted without an identity, as in Istio without XDS_AUTH_PLAINTEXT;
 * it is served no secrets.
 */
export function streamIdentity(
  options: StreamIdentityOptions,
): (proxy: Proxy, peer: Peer) => Promise<VerifiedIdentity | undefined> {
  const { authenticators, trustDomain, onRejected } = options;
  return async (proxy, peer) => {
    if (!peer.tls) return undefined;
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
