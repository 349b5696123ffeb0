import { create, equals } from "@bufbuild/protobuf";
import type { HttpBackendReference, RouteFilter, UrlRewrite } from "@istiod/config-schema";
import {
  Headers_HeaderOperationsSchema as OperationsSchema,
  HeadersSchema,
  type HTTPRewrite,
  HTTPRewriteSchema,
  type HTTPRoute,
  type HTTPRouteDestination,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { InvalidRouteError } from "../route-problem.js";
import { rewriteOf } from "./paths.js";
import { weighted } from "./weights.js";

/**
 * Adds what URLRewrite filters of the backends of a rule change to its route. The host is rewritten for each
 * destination. Envoy rewrites the path before it has chosen one, so that all backends must have the same path.
 *
 * @param route with a destination for each backend that has a weight
 * @throws InvalidRouteError if paths differ, or the rule has a URLRewrite filter, too
 */
export function addBackendRewrites(
  route: HTTPRoute,
  filters: readonly RouteFilter[],
  backendRefs: readonly HttpBackendReference[],
): void {
  const rewrites = weighted(backendRefs).map(({ backend }) => rewriteAmong(backend.filters));
  if (rewrites.every((rewrite) => rewrite === undefined)) return;
  if (rewriteAmong(filters) !== undefined)
    throw invalid("a rule and its backends must not both have URLRewrite filters");
  const [path, ...others] = rewrites.map(pathRewrite);
  if (others.some((other) => !isEqual(other, path)))
    throw invalid("URLRewrite filters must replace the path for all backends of a rule alike");
  if (path !== undefined) route.rewrite = path;
  for (const [i, destination] of route.route.entries()) {
    const hostname = rewrites[i]?.hostname;
    if (hostname !== undefined) setAuthority(destination, hostname);
  }
}

function rewriteAmong(filters: readonly RouteFilter[]): UrlRewrite | undefined {
  return filters.flatMap((filter) => (filter.type === "URLRewrite" ? [filter.urlRewrite] : []))[0];
}

function pathRewrite(rewrite: UrlRewrite | undefined): HTTPRewrite | undefined {
  return rewrite?.path && rewriteOf({ path: rewrite.path });
}

function isEqual(a: HTTPRewrite | undefined, b: HTTPRewrite | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equals(HTTPRewriteSchema, a, b);
}

function setAuthority(destination: HTTPRouteDestination, hostname: string): void {
  destination.headers ??= create(HeadersSchema);
  destination.headers.request ??= create(OperationsSchema);
  destination.headers.request.set[":authority"] = hostname;
}

function invalid(message: string): InvalidRouteError {
  return new InvalidRouteError({ reason: "InvalidFilter", message });
}
