import { createHash } from "node:crypto";
import { CaError } from "../errors.js";
import { type Authenticator, bearerToken } from "./authenticator.js";
import { type SpiffeIdentity, spiffeUri } from "./spiffe-identity.js";

/** Minimum length in characters; shorter tokens could be guessed. */
const minTokenLength = 16;

/**
 * Accepts static tokens, each for one identity, for meshes without Kubernetes and for tests. @throws CaError
 * `malformed` for a token under 16 characters, `identity`
 */
export function staticTokens(tokens: Iterable<readonly [token: string, identity: SpiffeIdentity]>): Authenticator {
  const byDigest = new Map<string, string>();
  for (const [token, identity] of tokens) {
    const uri = spiffeUri(identity);
    if (token.length < minTokenLength)
      throw new CaError("malformed", `token of ${uri}: shorter than ${minTokenLength} characters`);
    byDigest.set(digest(token), uri);
  }
  return {
    name: "static token",
    async authenticate(credentials) {
      const token = bearerToken(credentials);
      if (token === undefined) return undefined;
      const uri = byDigest.get(digest(token));
      if (uri === undefined) throw new CaError("unauthenticated", "unknown token");
      return { identities: [uri], by: this.name };
    },
  };
}

/** Hashes a token, so that the time of a lookup reveals nothing about it. */
function digest(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
