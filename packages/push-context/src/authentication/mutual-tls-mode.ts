import {
  PeerAuthentication_MutualTLS_Mode,
  type PeerAuthentication_MutualTLS,
} from "@istiod/istio-api/security/v1beta1/peer_authentication";

/** Whether a workload takes Istio's mutual TLS: only, also or not at all. `UNKNOWN`: no policy says. */
export type MutualTlsMode = "UNKNOWN" | "DISABLE" | "PERMISSIVE" | "STRICT";

/** The mode that a policy sets; undefined where it is left to the wider scope. */
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
