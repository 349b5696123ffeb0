import type { MetadataMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/metadata";
import type { ValueMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/value";
import { anyValueOf, listContaining, metadataMatcher } from "../envoy/value-matcher.js";

export const jwtFilterName = "envoy.filters.http.jwt_authn";

/** Under which key of its metadata the JWT filter leaves the token's payload. */
export const jwtPayloadKey = "payload";

/** A claim that is one value. */
export function claimEquals(claim: string, value: ValueMatcher): MetadataMatcher {
  return metadataMatcher(jwtFilterName, [jwtPayloadKey, claim], value);
}

/** A claim, perhaps nested, that is the value or a list with it. */
export function claimContains(path: readonly string[], value: ValueMatcher): MetadataMatcher {
  return metadataMatcher(jwtFilterName, [jwtPayloadKey, ...path], anyValueOf([listContaining(value), value]));
}
