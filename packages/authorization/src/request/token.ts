import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { unverifiableJwks } from "@istiod/push-context";
import { type JWTRule, JWTRule_JWTRequirement } from "@istiod/istio-api/security/v1beta1/request_authentication";
import { compactVerify, decodeJwt, decodeProtectedHeader, importJWK, type JWK } from "jose";

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
export async function verifyToken(
  token: string | undefined,
  rules: readonly KeyedRule[],
  now: number,
): Promise<TokenVerdict> {
  if (token === undefined) return unlessRequired({ state: "none" }, undefined, rules);
  if (rules.length === 0) return { state: "ignored", reason: "no RequestAuthentication applies to the workload" };
  const parsed = parse(token);
  if (typeof parsed === "string") return invalid(401, parsed);
  const { claims, issuer } = parsed;
  const accepting = rules.filter(({ rule }) => rule.issuer === issuer);
  if (accepting.length === 0) return invalid(401, `no JWT rule has the issuer ${JSON.stringify(issuer)}`);
  let verdict: TokenVerdict = { state: "none" };
  for (const each of accepting) {
    verdict = await verifyByRule(token, { claims, issuer }, each, now);
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

async function verifyByRule(
  token: string,
  { claims, issuer }: { readonly claims: JsonObject; readonly issuer: string },
  { rule, jwks }: KeyedRule,
  now: number,
): Promise<TokenVerdict> {
  const seconds = Math.floor(now / 1000);
  const { exp, nbf } = claims;
  if (typeof exp === "number" && seconds > exp + clockSkew) return invalid(401, "the token has expired");
  if (typeof nbf === "number" && seconds + clockSkew < nbf) return invalid(401, "the token is not valid yet");
  const audiences = [claims["aud"]].flat().map((each) => plainAudience(String(each)));
  if (rule.audiences.length > 0 && !rule.audiences.some((each) => audiences.includes(plainAudience(each))))
    return invalid(403, `none of the audiences ${rule.audiences.join(", ")} is in the token`);
  const normalized = splitClaims(claims, rule.spaceDelimitedClaims);
  if (jwks === undefined || jwks === unverifiableJwks) {
    const source = rule.jwksUri === "" ? `issuer ${rule.issuer}` : rule.jwksUri;
    const reason = `the keys of ${source} are not available here, so the signature is not verified`;
    return { state: "unverified", issuer, claims: normalized, reason };
  }
  return (await isSigned(token, jwks))
    ? { state: "valid", issuer, claims: normalized }
    : invalid(401, "no key of the issuer verifies the signature");
}

function parse(token: string): { readonly claims: JsonObject; readonly issuer: string } | string {
  try {
    const claims = decodeJwt(token) as JsonObject;
    const { alg } = decodeProtectedHeader(token);
    if (alg === undefined || alg === "none") return `the algorithm ${String(alg)} is not supported`;
    return { claims, issuer: typeof claims["iss"] === "string" ? claims["iss"] : "" };
  } catch (error) {
    return `the token is malformed: ${(error as Error).message}`;
  }
}

/** Tries each key that the token's key ID and algorithm do not exclude. */
async function isSigned(token: string, jwks: string): Promise<boolean> {
  const { kid, alg = "" } = decodeProtectedHeader(token);
  const { keys = [] } = JSON.parse(jwks) as { readonly keys?: readonly JWK[] };
  for (const key of keys) {
    if (kid !== undefined && key.kid !== undefined && kid !== key.kid) continue;
    if (key.alg !== undefined && key.alg !== alg) continue;
    try {
      await compactVerify(token, await importJWK(key, alg));
      return true;
    } catch {
      // Another key may verify it.
    }
  }
  return false;
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
