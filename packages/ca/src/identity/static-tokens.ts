import { createHash } from "node:crypto";
import { CaError } from "../errors.js";
import { type Authenticator, bearerToken } from "./authenticator.js";
import { type SpiffeIdentity, spiffeUri } from "./spiffe-identity.js";

/** A shorter token could be guessed. */
const SHORTEST_TOKEN = 16;

/**
 * Accepts fixed tokens, each for one identity: for a mesh without Kubernetes, and for tests. @throws CaError
 * `malformed` for a token under 16 characters, `identity`
 */
export function staticTokens(tokens: Iterable<readonly [token: string, identity: SpiffeIdentity]>): Authenticator {
  const byDigest = new Map<string, string>();
  for (const [token, identity] of tokens) {
    const uri = spiffeUri(identity);
    if (token.length < SHORTEST_TOKEN)
      throw new CaError("malformed", `token of ${uri}: shorter than ${SHORTEST_TOKEN} characters`);
    byDigest.set(digest(token), uri);
  }
  return {
    name: "fixed token",
    async authenticate(credentials) {
      const token = bearerToken(credentials);
      if (token === undefined) return undefined;
      const uri = byDigest.get(digest(token));
      if (uri === undefined) throw new CaError("unauthenticated", "token not known");
      return { identities: [uri], by: this.name };
    },
  };
}

/** Looked up instead of the token itself, so that the time of a look-up tells nothing about a token. */
function digest(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
