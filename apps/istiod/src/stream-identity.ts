import { Code, ConnectError } from "@connectrpc/connect";
import { authenticate, type Authenticator, CaError, type Credentials, parseSpiffeUri } from "@istiod/ca";
import type { Proxy } from "@istiod/push-context";
import type { Peer } from "@istiod/xds-server";

/**
 * Admits a stream on a TLS port only to an authenticated caller whose identity is the proxy's: the namespace must be the
 * proxy's, and the service account what its metadata says, if it does. A plaintext port asks for nothing, as Istio's does
 * without XDS_AUTH_PLAINTEXT.
 */
export function streamIdentity(authenticators: readonly Authenticator[]): (proxy: Proxy, peer: Peer) => Promise<void> {
  return async (proxy, peer) => {
    if (!peer.tls) return;
    const identities = await identitiesOf(authenticators, peer);
    const account = proxy.metadata.SERVICE_ACCOUNT ?? "";
    const same = identities.some((identity) => {
      const { namespace, serviceAccount } = parsed(identity) ?? {};
      return namespace === proxy.namespace && (account === "" || serviceAccount === account);
    });
    if (!same) {
      throw new ConnectError(`${proxy.nodeId} claims namespace ${proxy.namespace}${account ? ` and service account ${account}` : ""}; the caller is ${identities.join(", ")}`, Code.PermissionDenied);
    }
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
