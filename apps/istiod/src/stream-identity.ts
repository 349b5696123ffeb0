import { Code, ConnectError } from "@connectrpc/connect";
import { authenticate, type Authenticator, CaError, type Credentials, parseSpiffeUri } from "@istiod/ca";
import type { Proxy, VerifiedIdentity } from "@istiod/push-context";
import type { Peer } from "@istiod/xds-server";

/**
 * Admits a stream on a TLS port only to an authenticated caller whose identity is the proxy's: the namespace must be
 * the proxy's, and the service account what its metadata says, if it does. A plaintext port asks for nothing, as
 * Istio's does without XDS_AUTH_PLAINTEXT; whom it admits has no identity, and is given no secrets.
 */
export function streamIdentity(
  authenticators: readonly Authenticator[],
): (proxy: Proxy, peer: Peer) => Promise<VerifiedIdentity | undefined> {
  return async (proxy, peer) => {
    if (!peer.tls) return undefined;
    const identities = await identitiesOf(authenticators, peer);
    const account = proxy.metadata.SERVICE_ACCOUNT ?? "";
    for (const identity of identities) {
      const { namespace, serviceAccount } = parsed(identity) ?? {};
      if (namespace === undefined || serviceAccount === undefined || namespace !== proxy.namespace) continue;
      if (account === "" || serviceAccount === account) return { namespace, serviceAccount };
    }
    throw new ConnectError(
      `${proxy.nodeId} claims namespace ${proxy.namespace}${account ? ` and service account ${account}` : ""}; the caller is ${identities.join(", ")}`,
      Code.PermissionDenied,
    );
  };
}

async function identitiesOf(authenticators: readonly Authenticator[], peer: Peer): Promise<readonly string[]> {
  try {
    return (await authenticate(authenticators, credentialsOfPeer(peer))).identities;
  } catch (error) {
    if (error instanceof CaError) throw new ConnectError(error.message, Code.Unauthenticated);
    throw error;
  }
}

function parsed(identity: string): { readonly namespace: string; readonly serviceAccount: string } | undefined {
  try {
    return parseSpiffeUri(identity);
  } catch {
    return undefined;
  }
}

/** What the other end of a connection shows of itself. */
export function credentialsOfPeer(peer: Peer): Credentials {
  const certificate = peer.tls?.verified ? peer.tls.certificates[0] : undefined;
  return {
    encrypted: peer.tls !== undefined,
    peer: `${peer.address}:${peer.port}`,
    header: (name) => peer.headers[name],
    ...(certificate ? { verifiedCertificate: certificate } : {}),
  };
}
