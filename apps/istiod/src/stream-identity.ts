import { Code, ConnectError } from "@connectrpc/connect";
import { authenticate, type Authenticator, CaError, credentialsOf, type Peer, spiffeIdentities } from "@istiod/ca";
import type { Proxy, VerifiedIdentity } from "@istiod/push-context";

/**
 * Returns the authorization of xDS streams. Over TLS a stream is admitted only if the caller is authenticated as an
 * identity in the proxy's namespace, with the service account that the proxy's metadata names, if any. Over plaintext
 * every stream is admitted without an identity, as in Istio without XDS_AUTH_PLAINTEXT; it is served no secrets.
 */
export function streamIdentity(
  authenticators: readonly Authenticator[],
): (proxy: Proxy, peer: Peer) => Promise<VerifiedIdentity | undefined> {
  return async (proxy, peer) => {
    if (!peer.tls) return undefined;
    const identities = await authenticatedIdentities(authenticators, peer);
    const account = proxy.metadata.SERVICE_ACCOUNT ?? "";
    const identity = spiffeIdentities(identities).find(
      ({ namespace, serviceAccount }) =>
        namespace === proxy.namespace && (account === "" || serviceAccount === account),
    );
    if (identity !== undefined) return { namespace: identity.namespace, serviceAccount: identity.serviceAccount };
    throw new ConnectError(
      `${proxy.nodeId} claims namespace ${proxy.namespace}${account ? ` and service account ${account}` : ""}; the caller is ${identities.join(", ")}`,
      Code.PermissionDenied,
    );
  };
}

async function authenticatedIdentities(
  authenticators: readonly Authenticator[],
  peer: Peer,
): Promise<readonly string[]> {
  try {
    return (await authenticate(authenticators, credentialsOf(peer))).identities;
  } catch (error) {
    if (error instanceof CaError) throw new ConnectError(error.message, Code.Unauthenticated);
    throw error;
  }
}
