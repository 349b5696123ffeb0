import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { unverifiableJwks } from "@istiod/push-context";
import { type JWTRule, JWTRule_JWTRequirement } from "@istiod/istio-api/security/v1beta1/request_authentication";
import { type ParsedToken, parseToken } from "./parse-token.js";
import { isSigned } from "./verify-signature.js";

/** A JWT rule with the keys that verify its tokens; undefined keys are those that the proxy fetches itself. */
export interface KeyedRule {
  readonly rule: JWTRule;
  readonly jwks: string | undefined;
}

/** The proxy's verdict on a request's token. */
export type TokenVerdict =
  | { readonly state: "none" }
  | { readonly state: "ignored"; readonly reason: string }
  | { readonly state: "valid"; readonly issuer: string; readonly claims: JsonObject }
  | { readonly state: "invalid"; readonly status: 401 | 403; readonly reason: string }
  /** The keys are not available here, so the claims are assumed to be genuine. */
  | { readonly state: "unverified"; readonly issuer: string; readonly claims: JsonObject; readonly reason: string };

/** Clock skew that Envoy tolerates, in seconds. */
const clockSkew = 60;

/**
 * Verifies a token as the JWT filter of a proxy with these rules would.
 *
 * @param now milliseconds since the epoch
 */
export function verifyToken(token: string | undefined, rules: readonly KeyedRule[], now: number): TokenVerdict {
  if (token === undefined) return unlessRequired({ state: "none" }, undefined, rules);
  if (rules.length === 0) return { state: "ignored", reason: "no RequestAuthentication applies to the workload" };
  const parsed = parseToken(token);
  if (typeof parsed === "string") return invalid(401, parsed);
  const { issuer } = parsed;
  const accepting = rules.filter(({ rule }) => rule.issuer === issuer);
  if (accepting.length === 0) return invalid(401, `no JWT rule has the issuer ${JSON.stringify(issuer)}`);
  let verdict: TokenVerdict = { state: "none" };
  for (const each of accepting) {
    verdict = verifyByRule(parsed, each, now);
    if (verdict.state !== "invalid") return unlessRequired(verdict, issuer, rules);
  }
  return verdict;
}

/** Returns the verdict, or that the token of another issuer is missing, which its rule requires. */
function unlessRequired(verdict: TokenVerdict, issuer: string | undefined, rules: readonly KeyedRule[]): TokenVerdict {
  const missing = rules.find(
    ({ rule }) => rule.presence === JWTRule_JWTRequirement.REQUIRED && rule.issuer !== issuer,
  )?.rule;
  if (missing === undefined) return verdict;
  return invalid(401, `a token of issuer ${JSON.stringify(missing.issuer)} is missing, which its JWT rule requires`);
}

function verifyByRule(token: ParsedToken, { rule, jwks }: KeyedRule, now: number): TokenVerdict {
  const seconds = Math.floor(now / 1000);
  const { claims, issuer, expires, notBefore } = token;
  if (seconds + clockSkew < notBefore) return invalid(401, "the token is not valid yet");
  if (expires !== 0 && seconds > expires + clockSkew) return invalid(401, "the token has expired");
  const audiences = token.audiences.map(plainAudience);
  if (rule.audiences.length > 0 && !rule.audiences.some((each) => audiences.includes(plainAudience(each))))
    return invalid(403, `none of the audiences ${rule.audiences.join(", ")} is in the token`);
  const normalized = splitClaims(claims, rule.spaceDelimitedClaims);
  if (jwks === undefined || jwks === unverifiableJwks) {
    const source = rule.jwksUri === "" ? `issuer ${rule.issuer}` : rule.jwksUri;
    const reason = `the keys of ${source} are not available here, so the signature is not verified`;
    return { state: "unverified", issuer, claims: normalized, reason };
  }
  return isSigned(token, jwks)
    ? { state: "valid", issuer, claims: normalized }
    : invalid(401, "no key of the issuer verifies the signature");
}

/** Envoy compares audiences without scheme and trailing slash. */
function plainAudience(audience: string): string {
  return audience.replace(/^https?:\/\//, "").replace(/\/$/, "");
}

/** Splits claims that are lists in a string, as the generated JWT filter does. */
function splitClaims(claims: JsonObject, more: readonly string[]): JsonObject {
  const names = new Set([...more, "permission", "scope"]);
  const split = (value: JsonValue): JsonValue =>
    typeof value === "string" ? value.split(" ").filter((part) => part !== "") : value;
  return Object.fromEntries(
    Object.entries(claims).map(([name, value]) => [name, names.has(name) ? split(value) : value]),
  );
}

function invalid(status: 401 | 403, reason: string): TokenVerdict {
  return { state: "invalid", status, reason };
}
