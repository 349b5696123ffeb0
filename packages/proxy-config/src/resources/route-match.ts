import type { RouteMatch } from "@istiod/envoy-api/envoy/config/route/v3/route_components";

/** Formats the path match of a route like istioctl, which omits headers and query parameters. */
export function describeRouteMatch(match: RouteMatch | undefined): string {
  const specifier = match?.pathSpecifier;
  switch (specifier?.case) {
    case "prefix":
      return specifier.value === "" ? "" : `${specifier.value}*`;
    case "pathSeparatedPrefix":
      return specifier.value === "" ? "" : `PathPrefix:${specifier.value}`;
    case "path":
      return specifier.value;
    case "safeRegex":
      return `regex ${specifier.value.regex}`;
    default:
      return "";
  }
}
