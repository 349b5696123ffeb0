import type { StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { Place } from "../../../validation/place.js";
import { checkRegex } from "../../../validation/regex/regex.js";

export function checkStringMatch(match: StringMatch | undefined, place: Place): void {
  if (match?.matchType.case === "prefix" && match.matchType.value === "")
    place.at("prefix").error("is empty, expected text");
  checkRegexMatch(match, place);
}

/** Checks a match like `checkStringMatch`, except that an empty prefix matches any value. */
export function checkRegexMatch(match: StringMatch | undefined, place: Place): void {
  if (match?.matchType.case !== "regex") return;
  if (match.matchType.value === "") place.at("regex").error("is empty, expected a pattern");
  else checkRegex(match.matchType.value, place.at("regex"));
}
