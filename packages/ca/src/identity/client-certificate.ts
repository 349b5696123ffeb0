import { type Clock, systemClock } from "@istiod/runtime";
import { CaError } from "../errors.js";
import type { Authenticator } from "./authenticator.js";
import { spiffeUri } from "./spiffe-identity.js";
import { type TrustBundle, verifiedIdentity } from "./trust-bundle.js";

export interface ClientCertificatesOptions {
  /** Returns the root certificates of each trust domain. Called for each request, so that roots can be replaced. */
  readonly bundles: () => readonly TrustBundle[];
  readonly clock?: Clock;
}

/**
 * Authenticates callers by the SPIFFE ID in their client certificate. The certificate must be verified by TLS and lead
 * to a root of its own trust domain. Workloads renew this way.
 */
export function clientCertificates({ bundles, clock = systemClock }: ClientCertificatesOptions): Authenticator {
  return {
    name: "client certificate",
    async authenticate({ verifiedChain, hasUnverifiedCertificate }) {
      if (hasUnverifiedCertificate)
        throw new CaError("unauthenticated", "client certificate is not issued by a trusted root, or is not valid now");
      if (verifiedChain === undefined) return undefined;
      try {
        return { identities: [spiffeUri(verifiedIdentity(verifiedChain, bundles(), clock.now()))], by: this.name };
      } catch (error) {
        throw CaError.from(error, "unauthenticated", "client certificate cannot be read");
      }
    },
  };
}
