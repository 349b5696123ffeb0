import {
  PeerAuthentication_MutualTLS_Mode,
  type PeerAuthentication_MutualTLS,
} from "@istiod/istio-api/security/v1beta1/peer_authentication";

/** Mutual TLS mode of a workload. `UNKNOWN` if no policy sets one. */
export type MutualTlsMode = "UNKNOWN" | "DISABLE" | "PERMISSIVE" | "STRICT";

/** Returns the mode that a policy sets; undefined if it inherits the mode of the wider scope. */
export function declaredMode(
  mtls: PeerAuthentication_MutualTLS | undefined,
): Exclude<MutualTlsMode, "UNKNOWN"> | undefined {
  switch (mtls?.mode) {
    case PeerAuthentication_MutualTLS_Mode.DISABLE:
      return "DISABLE";
    case PeerAuthentication_MutualTLS_Mode.PERMISSIVE:
      return "PERMISSIVE";
    case PeerAuthentication_MutualTLS_Mode.STRICT:
      return "STRICT";
    default:
      return undefined;
  }
}
