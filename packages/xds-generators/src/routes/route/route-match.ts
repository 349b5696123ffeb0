import { create } from "@bufbuild/protobuf";
import {
  type HeaderMatcher,
  HeaderMatcherSchema,
  type QueryParameterMatcher,
  QueryParameterMatcherSchema,
  type RouteMatch,
  RouteMatchSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { RuntimeFractionalPercentSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { FractionalPercent_DenominatorType } from "@istiod/envoy-api/envoy/type/v3/percent";
import { shareHeader } from "@istiod/gateway-api";
import type { MetadataMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/metadata";
import { RegexMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/regex";
import type { HTTPMatchRequest, StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { isPresenceMatch, type RouteSemantics } from "@istiod/push-context";
import { presentValue, stringValue } from "../../envoy/value-matcher.js";
import { claimContains } from "../../security/jwt-claims.js";
import { toStringMatcher } from "./istio-string-match.js";

/** Returns a match for every request. */
export function anyRequest(): RouteMatch {
  return create(RouteMatchSchema, { pathSpecifier: { case: "prefix", value: "/" } });
}

/** Converts a route's match, except for port, source and gateways, which select the routes of a client beforehand. */
export function routeMatch(match: HTTPMatchRequest, semantics: RouteSemantics): RouteMatch {
  const out = anyRequest();
  for (const [name, value] of byName(match.headers)) {
    if (name === shareHeader && semantics === "gateway-api") out.runtimeFraction = fractionUpTo(value);
    else addHeaderMatch(out, name, value, false);
  }
  for (const [name, value] of byName(match.withoutHeaders)) {
    addHeaderMatch(out, name, value, true);
  }
  out.headers.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  if (match.uri !== undefined) {
    setPath(out, match.uri, semantics);
  }
  out.caseSensitive = !match.ignoreUriCase;
  for (const [name, value] of [
    [":method", match.method],
    [":authority", match.authority],
    [":scheme", match.scheme],
  ] as const) {
    if (value !== undefined) {
      out.headers.push(headerMatcher(name, value));
    }
  }
  out.queryParameters = byName(match.queryParams).map(([name, value]) => queryParameterMatcher(name, value));
  return out;
}

/** Returns the fraction of requests whose random number, which is the same for all routes, is below a limit. */
function fractionUpTo({ matchType }: StringMatch): NonNullable<RouteMatch["runtimeFraction"]> {
  return create(RuntimeFractionalPercentSchema, {
    defaultValue: { numerator: Number(matchType.value ?? 0), denominator: FractionalPercent_DenominatorType.MILLION },
  });
}

/** Reports whether a match includes all requests, or a fraction of all. After the former, no route is reached. */
export function isCatchAll({ pathSpecifier, headers, queryParameters, dynamicMetadata }: RouteMatch): boolean {
  return (
    ((pathSpecifier.case === "prefix" && pathSpecifier.value === "/") ||
      (pathSpecifier.case === "pathSeparatedPrefix" && pathSpecifier.value === "/") ||
      (pathSpecifier.case === "safeRegex" && pathSpecifier.value.regex === ".*")) &&
    headers.length === 0 &&
    queryParameters.length === 0 &&
    dynamicMetadata.length === 0
  );
}

/** Reports whether a match may be a catch-all, by its path alone: most are not. */
export function mayBeCatchAll({ uri }: HTTPMatchRequest): boolean {
  const { case: kind, value } = uri?.matchType ?? {};
  if (kind === "exact") return false;
  return kind === "regex" ? value === ".*" : value === undefined || value.length <= "//".length;
}

function setPath(out: RouteMatch, { matchType }: StringMatch, semantics: RouteSemantics): void {
  switch (matchType.case) {
    case "exact":
      out.pathSpecifier = { case: "path", value: matchType.value };
      break;
    case "prefix":
      out.pathSpecifier =
        semantics !== "virtual-service" && matchType.value !== "/"
          ? { case: "pathSeparatedPrefix", value: matchType.value.replace(/\/$/, "") }
          : { case: "prefix", value: matchType.value };
      break;
    case "regex":
      out.pathSpecifier = { case: "safeRegex", value: create(RegexMatcherSchema, { regex: matchType.value }) };
      break;
  }
}

function addHeaderMatch(out: RouteMatch, name: string, value: StringMatch, inverted: boolean): void {
  const claim = claimMatcher(name, value);
  if (claim !== undefined) {
    claim.invert = inverted;
    out.dynamicMetadata.push(claim);
    return;
  }
  const matcher = headerMatcher(name, value);
  matcher.invertMatch = inverted;
  matcher.treatMissingHeaderAsEmpty = inverted && !isPresenceMatch(value);
  out.headers.push(matcher);
}

const claimHeader = "@request.auth.claims";

/**
 * Returns a matcher for a JWT claim, written as a header `@request.auth.claims.a.b` or `@request.auth.claims[a][b]`. As
 * with headers, an empty match requires the claim to be present; Istio would send an empty matcher, which Envoy
 * rejects.
 */
function claimMatcher(name: string, value: StringMatch): MetadataMatcher | undefined {
  if (!name.toLowerCase().startsWith(claimHeader)) {
    return undefined;
  }
  const wanted = toStringMatcher(value);
  const matcher = isPresenceMatch(value) || wanted === undefined ? presentValue : stringValue(wanted);
  const path = name.slice(claimHeader.length);
  if (path.startsWith(".") && path.length > 1) {
    return claimContains(path.slice(1).split("."), matcher);
  }
  return path.startsWith("[") && path.endsWith("]") && path.length > 2
    ? claimContains(path.slice(1, -1).split("]["), matcher)
    : undefined;
}

function headerMatcher(name: string, value: StringMatch): HeaderMatcher {
  const out = create(HeaderMatcherSchema, { name });
  const matcher = toStringMatcher(value);
  if (isPresenceMatch(value)) {
    out.headerMatchSpecifier = { case: "presentMatch", value: true };
  } else if (matcher !== undefined) {
    out.headerMatchSpecifier = { case: "stringMatch", value: matcher };
  }
  return out;
}

function queryParameterMatcher(name: string, value: StringMatch): QueryParameterMatcher {
  const out = create(QueryParameterMatcherSchema, { name });
  const matcher = toStringMatcher(value);
  if (isPresenceMatch(value)) {
    out.queryParameterMatchSpecifier = { case: "presentMatch", value: true };
  } else if (matcher !== undefined) {
    out.queryParameterMatchSpecifier = { case: "stringMatch", value: matcher };
  }
  return out;
}

function byName(matches: Readonly<Record<string, StringMatch>>): readonly (readonly [string, StringMatch])[] {
  return Object.entries(matches).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
