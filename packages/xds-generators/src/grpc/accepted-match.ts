import { create } from "@bufbuild/protobuf";
import {
  type HeaderMatcher,
  HeaderMatcherSchema,
  type RouteMatch,
  RouteMatchSchema,
  type VirtualHost,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import { grpcMaxInvertedHeaders } from "@istiod/push-context";

/**
 * Returns matches that together mean for gRPC what a match means for Envoy. None if no call matches.
 *
 * - Calls have no query parameters and no claims of tokens, so what requires them matches none.
 * - Pseudo-headers are no metadata: `:method` is POST, `:scheme` is http, and `:authority` the domain.
 * - An inverted match of a value also matches calls without the header: gRPC needs a second route for those. Several
 *   need one for each combination, so more than {@link grpcMaxInvertedHeaders} match no call.
 * - Names of metadata are in lower case, and the C core compares names exactly.
 * - gRPC has no prefix that ends at a path segment: it is the path itself or a prefix that ends with a slash.
 *
 * Sources: gRFC A28; docs/design/038-proxyless-grpc.md.
 */
export function acceptedMatches(match: RouteMatch, authority: string): readonly RouteMatch[] {
  const { caseSensitive, headers } = match;
  if (match.queryParameters.length > 0 || match.dynamicMetadata.some(({ invert }) => !invert)) return [];
  if (headers.some((header) => decision(header, authority) === false)) return [];
  const metadata = headers.filter(({ name }) => !name.startsWith(":")).map(named);
  if (metadata.filter(matchesAbsent).length > grpcMaxInvertedHeaders) return [];
  return acceptedPaths(match).flatMap((pathSpecifier) =>
    acceptedHeaders(metadata).map((all) =>
      create(RouteMatchSchema, {
        pathSpecifier,
        headers: [...all],
        ...(caseSensitive !== undefined && { caseSensitive }),
      }),
    ),
  );
}

/** Returns the decisions of a virtual host's routes on an authority as text, equal for authorities that are alike. */
export function authorityDecisions({ routes }: VirtualHost, authority: string): string {
  return routes
    .flatMap(({ match }) => match?.headers.filter(({ name }) => name === ":authority") ?? [])
    .map((header) => Number(decision(header, authority)))
    .join("");
}

function acceptedPaths({ pathSpecifier: path }: RouteMatch): readonly RouteMatch["pathSpecifier"][] {
  switch (path.case) {
    case "pathSeparatedPrefix":
      return [
        { case: "path", value: path.value },
        { case: "prefix", value: `${path.value}/` },
      ];
    case "prefix":
    case "path":
      return path.value.startsWith("/") || path.value === "" ? [path] : [];
    case "safeRegex":
      return [path];
    default:
      return [];
  }
}

/** Returns a match of a header whose name is that of metadata. */
function named(header: HeaderMatcher): HeaderMatcher {
  return create(HeaderMatcherSchema, { ...header, name: header.name.toLowerCase() });
}

/** Returns lists of header matches, any of which may match. */
function acceptedHeaders([first, ...others]: readonly HeaderMatcher[]): readonly (readonly HeaderMatcher[])[] {
  if (first === undefined) return [[]];
  const { name } = first;
  const present = create(HeaderMatcherSchema, { ...first, treatMissingHeaderAsEmpty: false });
  const absent = create(HeaderMatcherSchema, {
    name,
    invertMatch: true,
    headerMatchSpecifier: { case: "presentMatch", value: true },
  });
  const alternatives = matchesAbsent(first) ? [absent, present] : [present];
  return acceptedHeaders(others).flatMap((rest) => alternatives.map((one) => [one, ...rest]));
}

/** Reports whether a match of a value also matches calls without the header. */
function matchesAbsent({ invertMatch, treatMissingHeaderAsEmpty }: HeaderMatcher): boolean {
  return invertMatch && treatMissingHeaderAsEmpty;
}

/** Returns whether a pseudo-header matches, false if that cannot be known; undefined for other headers. */
function decision(header: HeaderMatcher, authority: string): boolean | undefined {
  const { name, invertMatch, headerMatchSpecifier: specifier } = header;
  const value = { ":method": "POST", ":scheme": "http", ":authority": authority }[name];
  if (value === undefined) return name.startsWith(":") ? false : undefined;
  if (specifier.case === "presentMatch") return specifier.value !== invertMatch;
  const matches = specifier.case === "stringMatch" ? matchesText(specifier.value, value) : undefined;
  return matches === undefined ? false : matches !== invertMatch;
}

function matchesText({ matchPattern: pattern, ignoreCase }: StringMatcher, text: string): boolean | undefined {
  const [value, wanted] = [text, typeof pattern.value === "string" ? pattern.value : ""].map((each) =>
    ignoreCase ? each.toLowerCase() : each,
  ) as [string, string];
  switch (pattern.case) {
    case "exact":
      return value === wanted;
    case "prefix":
      return value.startsWith(wanted);
    case "suffix":
      return value.endsWith(wanted);
    case "contains":
      return value.includes(wanted);
    default:
      return undefined;
  }
}
