import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import type { StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { exactMatcher, prefixMatcher, regexMatcher } from "../../envoy/string-matcher.js";

/** Envoy's form of Istio's StringMatch; undefined where it matches nothing in particular. */
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
