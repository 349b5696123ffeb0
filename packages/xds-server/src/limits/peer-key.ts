import { createHash, X509Certificate } from "node:crypto";
import { addressGroup } from "@istiod/peer-address";
import type { Peer } from "../source.js";

/**
 * The caller that limits and fair queues count for. One of
 *
 * - `10.0.0.7`: an IPv4 address, also if it is mapped to IPv6;
 * - `2001:db8:0:1::/64`: a network of IPv6, because one host owns all addresses in it;
 * - `spiffe://… (issuer 1a2b3c4d)`: the SPIFFE ID of a client certificate that was verified by the listener. The
 *   issuer is part of it, so that no other CA can use up the share of the identity.
 *
 * Headers such as `x-forwarded-for` are never read: anyone can send them.
 */
export type PeerKey = string;

/** A peer key, and whether a certificate proves it. */
export interface PeerIdentity {
  readonly key: PeerKey;
  readonly isAuthenticated: boolean;
}

const issuerLength = 8;

/** Returns the key of a client: the identity of its verified certificate, or else its address. */
export function identifyPeer({ address, tls }: Pick<Peer, "address" | "tls">): PeerIdentity {
  const identity = tls?.verified === true ? spiffeId(tls.certificates) : undefined;
  return identity === undefined
    ? { key: addressKey(address), isAuthenticated: false }
    : { key: identity, isAuthenticated: true };
}

/** Returns the key of an address: the address itself for IPv4, its /64 network for IPv6. */
export function addressKey(address: string): PeerKey {
  return address === "" ? "unknown" : addressGroup(address);
}

function spiffeId([leaf, issuer]: readonly Uint8Array[]): string | undefined {
  if (leaf === undefined) return undefined;
  const names = new X509Certificate(leaf).subjectAltName?.split(", ") ?? [];
  const uris = names.filter((name) => name.startsWith("URI:spiffe://"));
  if (uris.length !== 1) return undefined;
  const fingerprint = createHash("sha256")
    .update(issuer ?? leaf)
    .digest("hex");
  return `${uris[0]?.slice("URI:".length)} (issuer ${fingerprint.slice(0, issuerLength)})`;
}
