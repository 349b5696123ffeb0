import type { StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";

/**
 * Reports whether a match only requires a value to be present: it is empty, or the regex `*`, which is not RE2 and
 * means any value.
 */
export function isPresenceMatch({ matchType }: StringMatch): boolean {
  return matchType.case === undefined || (matchType.case === "regex" && matchType.value === "*");
}
