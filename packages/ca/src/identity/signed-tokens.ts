import { createPublicKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  exportJWK,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
} from "jose";
import { type Clock, systemClock } from "@istiod/settings";
import { CaError } from "../errors.js";
import { type Authenticator, bearerToken } from "./authenticator.js";
import { identityOfSubject, spiffeUri } from "./spiffe-identity.js";

export interface SignedTokensOptions {
  /** The one issuer whose tokens are accepted. */
  readonly issuer: string;
  /** Accepted audiences. Tokens of Istio's agents have `istio-ca`. */
  readonly audiences: readonly string[];
  /** Returns the public keys of the issuer. Called for each token, so that keys can be rotated. */
  readonly keys: () => JSONWebKeySet | Promise<JSONWebKeySet>;
  readonly trustDomain: string;
  readonly clock?: Clock;
}

/** Public-key signatures only: with a shared secret (HS256), every verifier could sign. */
const allowedAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

/** Accepts Kubernetes service-account tokens, or any JWT with such a subject, by their signature (RFC 7519). */
export function signedTokens(options: SignedTokensOptions): Authenticator {
  const { issuer, audiences, keys, trustDomain, clock = systemClock } = options;
  return {
    name: "signed token",
    async authenticate(credentials) {
      const token = bearerToken(credentials);
      if (token === undefined) return undefined;
      try {
        const payload = await verify(token, await keys(), {
          issuer,
          audience: [...audiences],
          algorithms: allowedAlgorithms,
          requiredClaims: ["exp", "sub", "iss", "aud"],
          currentDate: new Date(clock.now()),
        });
        return { identities: [spiffeUri(identityOfSubject(payload.sub ?? "", trustDomain))], by: this.name };
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new CaError("unauthenticated", `token not accepted: ${reason}`, { cause: error });
      }
    },
  };
}

/** Tries each key with the token's key ID, and each key without an ID, such as PEM keys. */
async function verify(token: string, { keys }: JSONWebKeySet, rules: JWTVerifyOptions): Promise<JWTPayload> {
  const { kid } = decodeProtectedHeader(token);
  const candidates = kid === undefined ? keys : keys.map((key) => ({ kid, ...key }));
  try {
    return (await jwtVerify(token, createLocalJWKSet({ keys: candidates }), rules)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, rules)).payload;
      } catch (mismatch) {
        if (!(mismatch instanceof errors.JWSSignatureVerificationFailed)) throw mismatch;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/**
 * Reads public keys from a file: a JSON Web Key Set, or one or more PEM blocks `PUBLIC KEY`.
 *
 * @throws CaError `malformed`, or `store` if it cannot be read
 */
export async function readTokenKeys(path: string): Promise<JSONWebKeySet> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw CaError.from(error, "store", `${path} cannot be read`);
  }
  try {
    const blocks = text.match(/-----BEGIN [A-Z ]+-----[\s\S]*?-----END [A-Z ]+-----/g);
    if (blocks) return { keys: await Promise.all(blocks.map((block) => exportJWK(createPublicKey(block)))) };
    const set = JSON.parse(text) as Partial<JSONWebKeySet> | null;
    if (!Array.isArray(set?.keys)) throw new Error('expected {"keys": [...]}');
    return { keys: set.keys };
  } catch (error) {
    throw CaError.from(error, "malformed", `${path}: neither a JSON Web Key Set nor public keys in PEM`);
  }
}
