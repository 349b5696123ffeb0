import { create, equals } from "@bufbuild/protobuf";
import type { HttpBackendReference, RouteFilter, UrlRewrite } from "@istiod/config-schema";
import {
  Headers_HeaderOperationsSchema as OperationsSchema,
  HeadersSchema,
  type HTTPRewrite,
  HTTPRewriteSchema,
  type HTTPRoute,
  type HTTPRouteDestination,
  HTTPRouteSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { InvalidRouteError } from "../route-problem.js";
import { rewriteOf } from "./paths.js";
import { weighted } from "./weights.js";

/** A route with the share of the requests for which it is the first that matches. */
export interface RouteWithShare {
  readonly route: HTTPRoute;
  /**
   * Requests in a million that it and those before it have. Undefined for the last route, which has the others.
   */
  readonly upTo?: number;
}

/**
 * Adds what URLRewrite filters of the backends of a rule change to its route. The host is rewritten for each
 * destination. Envoy rewrites the path before it has chosen one, so that backends with different paths have routes of
 * their own, of which each has the share of its backend.
 *
 * @param route with a destination for each backend that has a weight
 * @throws InvalidRouteError if the rule has a URLRewrite filter, too
 */
export function withBackendRewrites(
  route: HTTPRoute,
  filters: readonly RouteFilter[],
  backendRefs: readonly HttpBackendReference[],
): readonly RouteWithShare[] {
  const rewrites = weighted(backendRefs).map(({ backend }) => rewriteAmong(backend.filters));
  if (rewrites.every((rewrite) => rewrite === undefined)) return [{ route }];
  if (rewriteAmong(filters) !== undefined)
    throw invalid("a rule and its backends must not both have URLRewrite filters");
  for (const [i, destination] of route.route.entries()) {
    const hostname = rewrites[i]?.hostname;
    if (hostname !== undefined) setAuthority(destination, hostname);
  }
  const paths = rewrites.map(pathRewrite);
  const [path, ...others] = paths;
  if (others.some((other) => !isEqual(other, path))) return routesByBackend(route, paths);
  if (path !== undefined) route.rewrite = path;
  return [{ route }];
}

/** Returns a route for each destination. Envoy compares one random number with the limits of all of them. */
function routesByBackend(route: HTTPRoute, paths: readonly (HTTPRewrite | undefined)[]): readonly RouteWithShare[] {
  const { $typeName: _, $unknown: __, rewrite: ___, ...fields } = route;
  const total = route.route.reduce((sum, { weight }) => sum + weight, 0);
  let sum = 0;
  return route.route.map((destination, i) => {
    sum += destination.weight;
    const path = paths[i];
    destination.weight = 0;
    const own = create(HTTPRouteSchema, { ...fields, route: [destination], ...(path && { rewrite: path }) });
    return i === route.route.length - 1 ? { route: own } : { route: own, upTo: Math.round((1_000_000 * sum) / total) };
  });
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
