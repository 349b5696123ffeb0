import { authenticate, type Authenticator, type Caller } from "./authenticator.js";
import { credentialsOf, type Peer } from "./peer.js";

/**
 * Authenticates the client of a request. The certificate authority, xDS and debug pages authenticate callers by this
 * function; what a caller may do is decided elsewhere.
 *
 * @throws CaError `unauthenticated` with the reason of each authenticator
 */
export function authenticatePeer(authenticators: readonly Authenticator[], peer: Peer): Promise<Caller> {
  return authenticate(authenticators, credentialsOf(peer));
}
