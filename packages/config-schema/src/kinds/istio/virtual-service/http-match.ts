import type { HTTPMatchRequest } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { checkPort } from "../../../validation/network/addresses.js";
import { checkLabels, isDnsLabel } from "../../../validation/network/names.js";
import type { Place } from "../../../validation/place.js";
import { checkGatewayNames } from "./gateway-names.js";
import { checkRegexMatch, checkStringMatch } from "./string-match.js";
import { warnOfUnmatchable } from "./unmatchable.js";

const pseudoHeaders = [":method", ":scheme", ":authority", ":path", ":status"];
/** Maximum length of the name of a query parameter in bytes (Envoy's `QueryParameterMatcher.name`). */
const maxQueryParamName = 1024;
const headerName = /^[!#$%&'*+\-.^_`|~A-Za-z0-9]+$/;

/**
 * Checks an HTTP match.
 *
 * @param toGateway the VirtualService applies to gateways only, where JWT claims can be matched
 */
export function checkHttpMatch(match: HTTPMatchRequest, toGateway: boolean, place: Place): void {
  for (const field of ["headers", "withoutHeaders"] as const) {
    for (const [name, value] of Object.entries(match[field])) {
      const at = place.at(field, name);
      checkHeaderName(name, at);
      if (!toGateway && isClaim(name))
        at.error("matches a token claim, which only gateways verify, expected gateways without mesh");
      const presence = field === "withoutHeaders" && value.matchType.case === "regex" && value.matchType.value === "*";
      if (!presence) checkStringMatch(value, at);
    }
  }
  checkRegexMatch(match.uri, place.at("uri"));
  for (const field of ["scheme", "method", "authority"] as const) checkStringMatch(match[field], place.at(field));
  for (const [name, value] of Object.entries(match.queryParams)) {
    const length = Buffer.byteLength(name);
    if (length === 0 || length > maxQueryParamName)
      place.at("queryParams", name).error(`has a name of ${length} bytes, expected 1 to ${maxQueryParamName}`);
    checkStringMatch(value, place.at("queryParams", name));
  }
  if (match.port !== 0) checkPort(match.port, place.at("port"));
  checkLabels(match.sourceLabels, place.at("sourceLabels"));
  checkGatewayNames(match.gateways, place.at("gateways"));
  if (match.sourceNamespace !== "" && !isDnsLabel(match.sourceNamespace))
    place.at("sourceNamespace").error(`is ${JSON.stringify(match.sourceNamespace)}, expected the name of a namespace`);
  warnOfUnmatchable(match, place);
}

/** Reports whether a header name is a JWT claim: `@request.auth.claims.a.b` or `@request.auth.claims[a][b]`. */
function isClaim(name: string): boolean {
  return /^@request\.auth\.claims(?:\..|\[.+\]$)/is.test(name);
}

function checkHeaderName(name: string, place: Place): void {
  if (name === "") place.error("has an empty name, expected the name of a header");
  else if (!isClaim(name) && !pseudoHeaders.includes(name) && !headerName.test(name))
    place.error(`is ${JSON.stringify(name)}, expected the name of a header`);
}
