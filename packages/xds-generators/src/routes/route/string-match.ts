import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import type { StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { exactly, matchingRegex, withPrefix } from "../../envoy/string-matcher.js";

/** Envoy's form of Istio's StringMatch; undefined where it matches nothing in particular. */
export function stringMatcher({ matchType }: StringMatch): StringMatcher | undefined {
  switch (matchType.case) {
    case "exact":
      return exactly(matchType.value);
    case "prefix":
      return withPrefix(matchType.value);
    case "regex":
      return matchingRegex(matchType.value);
    default:
      return undefined;
  }
}
