import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import type { StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { exactMatcher, prefixMatcher, regexMatcher } from "../../envoy/string-matcher.js";

/** Converts Istio's StringMatch; undefined if it is empty. */
export function toStringMatcher({ matchType }: StringMatch): StringMatcher | undefined {
  switch (matchType.case) {
    case "exact":
      return exactMatcher(matchType.value);
    case "prefix":
      return prefixMatcher(matchType.value);
    case "regex":
      return regexMatcher(matchType.value);
    default:
      return undefined;
  }
}
