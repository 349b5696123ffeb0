import type { MetadataMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/metadata";
import type { ValueMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/value";
import { anyValueOf, listContaining, metadataMatcher } from "../envoy/value-matcher.js";

export const jwtFilterName = "envoy.filters.http.jwt_authn";

/** The metadata key of the token's payload. */
export const jwtPayloadKey = "payload";

/** Matches a claim with a single value. */
export function claimEquals(claim: string, value: ValueMatcher): MetadataMatcher {
  return metadataMatcher(jwtFilterName, [jwtPayloadKey, claim], value);
}

/** Matches a claim, possibly nested, that equals the value or is a list containing it. */
export function claimContains(path: readonly string[], value: ValueMatcher): MetadataMatcher {
  return metadataMatcher(jwtFilterName, [jwtPayloadKey, ...path], anyValueOf([listContaining(value), value]));
}
