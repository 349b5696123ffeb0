import type { HTTPRedirect, HTTPRewrite, HTTPRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { isPort } from "../../../validation/network/addresses.js";
import { checkDestination } from "../../../validation/network/destination.js";
import { checkOptionalDuration } from "../../../validation/durations.js";
import { checkHttpRetry } from "../../../validation/traffic/http-retry.js";
import { each, type Place } from "../../../validation/place.js";
import { checkRegex } from "../../../validation/regex/regex.js";
import { checkCorsPolicy } from "./cors.js";
import { checkFault, checkHttpStatus } from "./fault.js";
import { checkHeaders, checkHeaderText, isAuthority } from "./headers.js";
import { checkHttpMatch } from "./http-match.js";
import { warnOfIneffectiveSettings } from "./ineffective-settings.js";
import { warnOfLiteralValues } from "./literal-values.js";
import { checkWeights } from "./weights.js";

const megabyte = 1024 * 1024;
const largeBody = 100 * 1024;

export interface HttpRouteContext {
  /** Reports whether the VirtualService has no hosts: other VirtualServices delegate to it. */
  readonly delegate: boolean;
  readonly toGateway: boolean;
}

export function checkHttpRoute(route: HTTPRoute, { delegate, toGateway }: HttpRouteContext, place: Place): void {
  checkActions(route, delegate, place);
  each(route.match, place.at("match"), (match, at) => checkHttpMatch(match, toGateway, at));
  checkHeaders(route.headers, place.at("headers"));
  checkCorsPolicy(route.corsPolicy, place.at("corsPolicy"));
  checkFault(route.fault, place.at("fault"));
  checkMirrors(route, place);
  checkRedirect(route, place.at("redirect"));
  checkDirectResponse(route, place.at("directResponse"));
  checkHttpRetry(route.retries, place.at("retries"));
  checkRewrite(route.rewrite, place.at("rewrite"));
  checkAuthority(route, place);
  each(route.route, place.at("route"), (destination, at) => checkHeaders(destination.headers, at.at("headers")));
  checkWeights(route.route, place.at("route"));
  checkOptionalDuration(route.timeout, place.at("timeout"));
  warnOfIneffectiveSettings(route, place);
  warnOfLiteralValues(route, place);
}

/** Checks that a route has exactly one action: destinations, redirect, direct response or delegation. */
function checkActions(route: HTTPRoute, delegate: boolean, place: Place): void {
  if (route.delegate !== undefined && !delegate) {
    if (route.redirect !== undefined)
      place.at("redirect").error("is set together with delegate, expected only one of them");
    if (route.route.length > 0) place.at("route").error("is set together with delegate, expected only one of them");
    return;
  }
  if (route.delegate !== undefined)
    place.at("delegate").error("is set in a VirtualService without hosts, expected no delegate of a delegate");
  const action =
    route.redirect !== undefined ? "redirect" : route.directResponse !== undefined ? "directResponse" : undefined;
  if (action === undefined && route.route.length === 0)
    place.error("does nothing, expected route, redirect or directResponse");
  if (action !== undefined) {
    if (route.route.length > 0) place.at("route").error(`is set together with ${action}, expected only one of them`);
    for (const other of ["fault", "rewrite", "directResponse"] as const) {
      if (other !== action && route[other] !== undefined)
        place.at(other).error(`is set together with ${action}, expected only one of them`);
    }
  }
  if (route.mirror !== undefined && route.mirrors.length > 0)
    place.at("mirrors").error("is set together with mirror, expected only one of them");
}

function checkMirrors(route: HTTPRoute, place: Place): void {
  if (route.mirrorPercent !== undefined) {
    if (route.mirrorPercent > 100) place.at("mirrorPercent").error(`is ${route.mirrorPercent}, expected at most 100`);
    place.at("mirrorPercent").warning("is deprecated, expected mirrorPercentage");
  }
  const percentage = (value: number | undefined, at: Place): void => {
    if (value !== undefined && !(value >= 0 && value <= 100)) at.error(`is ${value}, expected 0 to 100`);
  };
  percentage(route.mirrorPercentage?.value, place.at("mirrorPercentage", "value"));
  checkDestination(route.mirror, place.at("mirror"));
  each(route.mirrors, place.at("mirrors"), (mirror, at) => {
    if (mirror.destination === undefined) at.at("destination").error("is missing, expected a destination");
    checkDestination(mirror.destination, at.at("destination"));
    percentage(mirror.percentage?.value, at.at("percentage", "value"));
  });
}

function checkRedirect({ redirect, match }: HTTPRoute, place: Place): void {
  if (redirect === undefined) return;
  if (redirect.uri !== "" && redirect.prefixRewrite !== "")
    place.at("prefixRewrite").error("is set together with uri, expected only one of them");
  else if (
    redirect.prefixRewrite !== "" &&
    match.some((m) => m.uri !== undefined && m.uri.matchType.case !== "prefix")
  ) {
    place.at("prefixRewrite").error("is set, expected every match of the uri to be by prefix");
  } else checkRedirectTarget(redirect, place);
}

/** Status codes of redirects that Envoy has; 0 for the default. */
const redirectCodes: readonly number[] = [0, 301, 302, 303, 307, 308];

function checkRedirectTarget(redirect: HTTPRedirect, place: Place): void {
  const { uri, prefixRewrite, authority, redirectPort, scheme, redirectCode } = redirect;
  if (uri === "" && prefixRewrite === "" && authority === "" && redirectPort.case === undefined && scheme === "")
    place.error("is empty, expected uri, authority, scheme or port");
  for (const field of ["uri", "authority", "prefixRewrite"] as const) checkHeaderText(redirect[field], place.at(field));
  if (!redirectCodes.includes(redirectCode))
    place.at("redirectCode").error(`is ${redirectCode}, expected 301, 302, 303, 307 or 308, which proxies can send`);
  if (scheme !== "" && scheme !== "http" && scheme !== "https")
    place.at("scheme").error(`is ${JSON.stringify(scheme)}, expected http or https`);
  if (redirectPort.case === "port" && redirectPort.value !== 0 && !isPort(redirectPort.value))
    place.at("port").error(`is ${redirectPort.value}, expected a port from 1 to 65535`);
}

function checkDirectResponse({ directResponse }: HTTPRoute, place: Place): void {
  if (directResponse === undefined) return;
  const specifier = directResponse.body?.specifier;
  const size =
    specifier?.case === "string"
      ? Buffer.byteLength(specifier.value)
      : specifier?.case === "bytes"
        ? specifier.value.length
        : 0;
  if (size > megabyte) place.at("body").error(`has ${size} bytes, expected at most ${megabyte}`);
  else if (size > largeBody) place.at("body").warning(`has ${size} bytes, which are sent to every proxy`);
  checkHttpStatus(directResponse.status, place.at("status"));
}

function checkRewrite(rewrite: HTTPRewrite | undefined, place: Place): void {
  if (rewrite === undefined) return;
  const { uri, authority, uriRegexRewrite } = rewrite;
  checkHeaderText(uri, place.at("uri"));
  checkHeaderText(authority, place.at("authority"));
  if (uri !== "" && uriRegexRewrite !== undefined)
    place.at("uriRegexRewrite").error("is set together with uri, expected only one of them");
  else if (uri === "" && uriRegexRewrite === undefined && authority === "")
    place.error("is empty, expected uri, uriRegexRewrite or authority");
  else if (uriRegexRewrite !== undefined) {
    if (uriRegexRewrite.match === "" || uriRegexRewrite.rewrite === "")
      place.at("uriRegexRewrite").error("is incomplete, expected match and rewrite");
    else {
      checkRegex(uriRegexRewrite.match, place.at("uriRegexRewrite", "match"));
      if (/[\0\r\n]/.test(uriRegexRewrite.rewrite))
        place.at("uriRegexRewrite", "rewrite").error("has a line break or NUL, expected text");
    }
  }
}

/** Checks that the authority is replaced in one place only. */
function checkAuthority({ rewrite, headers }: HTTPRoute, place: Place): void {
  const places: Place[] = (rewrite?.authority ?? "") === "" ? [] : [place.at("rewrite", "authority")];
  for (const field of ["set", "add"] as const) {
    for (const [name, value] of Object.entries(headers?.request?.[field] ?? {})) {
      if (!isAuthority(name)) continue;
      const at = place.at("headers", "request", field, name);
      if (places.length > 0)
        at.error(`sets the authority to ${JSON.stringify(value)}, expected it to be set in one place`);
      places.push(at);
    }
  }
}
