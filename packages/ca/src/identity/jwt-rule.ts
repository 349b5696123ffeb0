import { fromJsonString, type JsonReadOptions } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { JWTRuleSchema } from "@istiod/istio-api/security/v1beta1/request_authentication";
import { CaError } from "../errors.js";

/** An issuer whose tokens authenticate callers, and the source of its keys. */
export interface JwtRule {
  readonly issuer: string;
  /** Accepted audiences, at least one. */
  readonly audiences: readonly string[];
  /** URI of the keys. Empty: discovered from the issuer, unless `jwks` is given. */
  readonly jwksUri: string;
  /** The keys as text; empty to fetch them. */
  readonly jwks: string;
  /** Timeout of each fetch in milliseconds. */
  readonly timeoutMs: number;
}

const jsonOptions: Partial<JsonReadOptions> = { ignoreUnknownFields: false };

const defaultTimeoutMs = 5000;

/** Fields of a RequestAuthentication's rule that are about requests of the mesh, not about callers of istiod. */
const unusedFields = [
  "fromHeaders",
  "fromParams",
  "fromCookies",
  "outputPayloadToHeader",
  "outputClaimToHeaders",
  "forwardOriginalToken",
] as const;

/**
 * Parses the rule of Istio's JWT_RULE: a JWTRule in JSON, with `issuer`, `audiences`, and `jwksUri`, `jwks` or neither.
 *
 * @throws CaError `malformed`, whose message continues the name of the setting
 */
export function parseJwtRule(text: string): JwtRule {
  let rule;
  try {
    rule = fromJsonString(JWTRuleSchema, text, jsonOptions);
  } catch (error) {
    throw CaError.from(error, "malformed", 'expected a JWTRule in JSON such as {"issuer": "…", "audiences": ["…"]}');
  }
  const { issuer, audiences, jwksUri, jwks, timeout } = rule;
  for (const field of unusedFields) {
    const value = rule[field];
    const isSet = typeof value === "boolean" ? value : value.length > 0;
    if (isSet) throw new CaError("malformed", `${field}: has no effect on callers of istiod, expected none`);
  }
  if (issuer === "") throw new CaError("malformed", "issuer: is required");
  if (audiences.length === 0 || audiences.includes(""))
    throw new CaError("malformed", "audiences: at least one is required, without one every token would be rejected");
  if (jwksUri !== "" && jwks !== "") throw new CaError("malformed", "jwks: expected either it or jwksUri");
  if (jwksUri !== "" && !/^https?:\/\//i.test(jwksUri))
    throw new CaError("malformed", `jwksUri: ${JSON.stringify(jwksUri)} is not a URL, expected https://… or http://…`);
  if (jwksUri === "" && jwks === "" && !/^https?:\/\//i.test(issuer))
    throw new CaError(
      "malformed",
      `issuer: ${JSON.stringify(issuer)} is not a URL, so that its keys cannot be discovered; expected jwksUri or jwks`,
    );
  const timeoutMs = timeout === undefined ? defaultTimeoutMs : durationMs(timeout);
  return { issuer, audiences, jwksUri, jwks, timeoutMs };
}
