import { Code, ConnectError } from "@connectrpc/connect";
import {
  authenticatePeer,
  type Authenticator,
  authorizeClaim,
  CaError,
  type ClaimDenial,
  type ClaimOptions,
  type Peer,
} from "@istiod/ca";
import type { Proxy, VerifiedIdentity } from "@istiod/push-context";

/** Reason why a stream is rejected, the value of a metric's label. */
export type StreamRejection = "unauthenticated" | ClaimDenial;

export interface StreamIdentityOptions extends ClaimOptions {
  readonly authenticators: readonly Authenticator[];
  /** `false`: no stream is authenticated (Istio's XDS_AUTH). Default: true. */
  readonly isEnabled?: boolean;
  /** Authenticates streams of plaintext connections as well (Istio's XDS_AUTH_PLAINTEXT). Default: false. */
  readonly authenticatesPlaintext?: boolean;
  /** Called for each rejected stream, with details that the caller is not told. */
  readonly onRejected?: (proxy: Proxy, peer: Peer, reason: StreamRejection, details: string) => void;
}

/**
 * Returns the check of xDS streams: authentication of the caller over TLS, and then authorization of the proxy that it
 * claims to be. Streams that are not authenticated, by default those over plaintext, are admitted without an identity:
 * they are served no secrets.
 */
export function streamIdentity(
  options: StreamIdentityOptions,
): (proxy: Proxy, peer: Peer) => Promise<VerifiedIdentity | undefined> {
  const { authenticators, onRejected, isEnabled = true, authenticatesPlaintext = false } = options;
  return async (proxy, peer) => {
    if (!isEnabled || (!peer.tls && !authenticatesPlaintext)) return undefined;
    const reject = (reason: StreamRejection, details: string, error: ConnectError): never => {
      onRejected?.(proxy, peer, reason, details);
      throw error;
    };
    const { identities } = await authenticatePeer(authenticators, peer).catch((error: unknown) => {
      if (!(error instanceof CaError)) throw error;
      return reject("unauthenticated", error.message, new ConnectError("authentication failure", Code.Unauthenticated));
    });
    const claim = { id: proxy.nodeId, namespace: proxy.namespace, serviceAccount: proxy.metadata.SERVICE_ACCOUNT };
    const decision = authorizeClaim(claim, identities, options);
    if (decision.allowed) return decision.identity;
    return reject(decision.reason, decision.message, new ConnectError(decision.message, Code.PermissionDenied));
  };
}
