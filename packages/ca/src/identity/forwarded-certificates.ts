import { type AddressRanges, isLoopback } from "@istiod/peer-address";
import { reasonOf } from "@istiod/runtime";
import { CaError } from "../errors.js";
import type { Authenticator, Credentials } from "./authenticator.js";
import { type ForwardedElement, parseForwardedCertificates } from "./forwarded-header.js";
import { identityIn, spiffeUri } from "./spiffe-identity.js";

export interface ForwardedCertificatesOptions {
  /** Addresses of the gateways whose header is believed. Those of this machine are always among them, as in Istio. */
  readonly trusted: AddressRanges;
  readonly trustDomain: string;
}

/** Header in which Envoy forwards the certificate of its client. */
export const forwardedCertificateHeader = "x-forwarded-client-cert";

/**
 * Authenticates callers behind a trusted gateway by the client certificate that the gateway has verified, and names in
 * the header `x-forwarded-client-cert`. Every element must have the same one URI, an identity of the own trust domain:
 * elements of others cannot be told from those that the gateway has passed on, and a caller must not choose between
 * them.
 */
export function forwardedCertificates({ trusted, trustDomain }: ForwardedCertificatesOptions): Authenticator {
  const isTrusted = (address: string | undefined): boolean => isLoopback(address) || trusted.has(address);
  return {
    name: "forwarded client certificate",
    async authenticate(credentials) {
      const header = credentials.header(forwardedCertificateHeader);
      if (header === undefined || header === "") return undefined;
      checkPeer(credentials, isTrusted);
      try {
        return { identities: [identityOf(parseForwardedCertificates(header), trustDomain)], by: this.name };
      } catch (error) {
        throw new CaError("unauthenticated", reasonOf(error), { cause: error });
      }
    },
  };
}

function checkPeer(
  { address, hasUnverifiedCertificate }: Credentials,
  isTrusted: (address: string | undefined) => boolean,
): void {
  if (!isTrusted(address))
    throw new CaError(
      "unauthenticated",
      `${forwardedCertificateHeader} of ${address ?? "a caller without an address"}, which is not in the trusted network`,
    );
  // Istio does not accept such a connection at all.
  if (hasUnverifiedCertificate)
    throw new CaError("unauthenticated", `${forwardedCertificateHeader} of a peer whose own certificate is not valid`);
}

function identityOf(elements: readonly ForwardedElement[], trustDomain: string): string {
  const found = new Set(elements.map(({ uris }) => onlyIdentity(uris, trustDomain)));
  const [identity, ...others] = found;
  if (identity === undefined || others.length > 0)
    throw new CaError("identity", `${forwardedCertificateHeader} has elements of different identities`);
  return identity;
}

function onlyIdentity(uris: readonly string[], trustDomain: string): string {
  if (uris.length !== 1)
    throw new CaError("identity", `${forwardedCertificateHeader} has an element of ${uris.length} URIs, expected one`);
  const identity = identityIn(trustDomain, uris);
  if (identity === undefined)
    throw new CaError(
      "identity",
      `${forwardedCertificateHeader}: ${JSON.stringify(uris[0])} is not an identity of trust domain ${trustDomain}`,
    );
  return spiffeUri(identity);
}
