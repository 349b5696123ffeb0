import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose";
import { type Clock, reasonOf, systemClock } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { type Authenticator, bearerToken } from "./authenticator.js";
import { identityOfSubject, spiffeUri } from "./spiffe-identity.js";
import { candidateKeys, tokenAlgorithms, type TokenKey, type TokenKeySet } from "./token-keys.js";

export interface SignedTokensOptions {
  /** Name of the authenticator. Default: `signed token`. */
  readonly name?: string;
  /** The one issuer whose tokens are accepted. */
  readonly issuer: string;
  /** Accepted audiences, at least one. Tokens of Istio's agents have `istio-ca`. */
  readonly audiences: readonly string[];
  /** Returns the public keys of the issuer. Called for each token, so that keys can be rotated. */
  readonly keys: () => TokenKeySet | Promise<TokenKeySet>;
  /**
   * Fetches the keys again, and resolves when they are fetched. Called if none of them verifies a token of the issuer,
   * which callers can forge: it must limit its rate.
   */
  readonly refreshKeys?: () => Promise<void>;
  readonly trustDomain: string;
  readonly clock?: Clock;
}

/** A JWS in compact form, RFC 7515 §7.1. */
const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Seconds by which `nbf` and `iat` may be in the future, as go-oidc, which Istio uses, allows for `nbf`. There is no
 * leeway for `exp`.
 */
const leewaySeconds = 300;

/**
 * Accepts Kubernetes service-account tokens, or any JWT with such a subject, by their signature (RFC 7519).
 *
 * @throws CaError `malformed` without an issuer or audiences
 */
export function signedTokens(options: SignedTokensOptions): Authenticator {
  const { name = "signed token", issuer, audiences, trustDomain } = options;
  if (issuer === "") throw new CaError("malformed", `issuer of tokens: is required`);
  if (audiences.length === 0) throw new CaError("malformed", `audiences of tokens: at least one is required`);
  return {
    name,
    async authenticate(credentials) {
      const token = bearerToken(credentials);
      if (token === undefined) return undefined;
      try {
        const { sub } = await verify(token, options);
        const subject = typeof sub === "string" ? sub : "";
        return { identities: [spiffeUri(identityOfSubject(subject, trustDomain))], by: name };
      } catch (error) {
        const reason = reasonOf(error);
        throw new CaError("unauthenticated", `token not accepted: ${reason}`, { cause: error });
      }
    },
  };
}

/** Verifies a token with the current keys and, if none of them has signed it, with those of another fetch. */
async function verify(token: string, options: SignedTokensOptions): Promise<JWTPayload> {
  const { keys, refreshKeys, issuer } = options;
  const header = decodeProtectedHeader(token);
  // Tokens of other issuers, which other authenticators may accept, cost no signature and no fetch.
  if (decodeJwt(token).iss !== issuer) throw new Error('unexpected "iss" claim value');
  if (!tokenAlgorithms.includes(header.alg ?? ""))
    throw new Error(
      `algorithm ${JSON.stringify(String(header.alg).slice(0, 20))} is not one of ${tokenAlgorithms.join(", ")}`,
    );
  if (!compactForm.test(token)) throw new Error("is not a signed token in compact form");
  const before = await keys();
  const payload = await verifiedBy(token, candidateKeys(before, header), options);
  if (payload !== undefined) return payload;
  await refreshKeys?.();
  const after = await keys();
  const again = after === before ? undefined : await verifiedBy(token, candidateKeys(after, header), options);
  if (again === undefined) throw new Error("no key of the issuer verifies the signature");
  return again;
}

/** Returns the claims of a token; undefined if none of the keys has signed it. @throws Error if a claim is not valid */
async function verifiedBy(
  token: string,
  keys: readonly TokenKey[],
  { issuer, audiences, clock = systemClock }: SignedTokensOptions,
): Promise<JWTPayload | undefined> {
  const now = clock.now() / 1000;
  for (const { key } of keys) {
    try {
      const { payload } = await jwtVerify(token, key, {
        issuer,
        audience: [...audiences],
        algorithms: [...tokenAlgorithms],
        requiredClaims: ["exp", "sub", "iss", "aud"],
        currentDate: new Date(clock.now()),
        clockTolerance: leewaySeconds,
      });
      checkTimes(payload, now);
      return payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  return undefined;
}

function checkTimes({ exp = 0, iat }: JWTPayload, now: number): void {
  if (exp <= now) throw new Error('"exp" claim: the token has expired');
  if (iat !== undefined && iat > now + leewaySeconds) throw new Error('"iat" claim: the token is issued in the future');
}
