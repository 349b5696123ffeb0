import { create } from "@bufbuild/protobuf";
import {
  type GrpcRouteRule,
  grpcRoutes,
  type HttpBackendReference,
  type HttpRouteRetry,
  type HttpRouteRule,
  httpRoutes,
  type HttpRouteTimeouts,
  type RequestMirror,
  type RouteFilter,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type HTTPMatchRequest,
  type HTTPMirrorPolicy,
  HTTPMirrorPolicySchema,
  type HTTPRoute,
  type HTTPRouteDestination,
  HTTPRouteDestinationSchema,
  HTTPRouteSchema,
  HTTPRetrySchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { type RouteBackend, resolvedBackend } from "../backends.js";
import type { RouteReference } from "../route.js";
import { InvalidRouteError, joinProblems, problemOf, type RouteProblem } from "../route-problem.js";
import { type RouteWithShare, withBackendRewrites } from "./backend-rewrites.js";
import { corsPolicy } from "./cors.js";
import { headersOf } from "./headers.js";
import { grpcMatch, httpMatch, sharedMatch } from "./matches.js";
import { destinationMessage, duration } from "./messages.js";
import { redirectOf, rewriteOf } from "./paths.js";
import { inPrecedence } from "./precedence.js";
import { weighted, weightSum } from "./weights.js";

/** The rules of a route as messages of Istio. */
export interface ConvertedRules<T> {
  /** Empty if a problem disables all rules. */
  readonly routes: readonly T[];
  readonly problem?: RouteProblem;
  /** Notes on parts that are valid and have no effect. */
  readonly notes: readonly string[];
}

/** An HTTPRoute or GRPCRoute, as clients in the mesh or gateways apply it. */
export interface RulesOf extends RouteReference {
  readonly inMesh: boolean;
}

/**
 * The rules of an HTTPRoute or GRPCRoute, one with at most one match for each match, in the order of precedence.
 * Source: pilot/pkg/config/kube/gateway/conversion.go.
 */
export const convertedHttpRules = query(
  "gatewayApiHttpRules",
  (q, { kind, key, inMesh }: RulesOf): ConvertedRules<HTTPRoute> => {
    const object = kind === "HTTPRoute" ? q.read(httpRoutes, key) : q.read(grpcRoutes, key);
    if (object === undefined) return { routes: [], notes: [] };
    const { namespace, name, spec } = object;
    const backendOf = (ref: RouteBackend["ref"]): RouteBackend => ({
      routeKind: kind,
      namespace,
      ref,
      needsGrant: !inMesh,
    });
    const routes: HTTPRoute[] = [];
    const notes = new Set<string>();
    let problem: RouteProblem | undefined;
    try {
      for (const [i, rule] of spec.rules.entries()) {
        const converted = convertRule({ q, kind, backendOf, notes }, rule, rule.name ?? `${namespace}.${name}.${i}`);
        problem = converted.problem ?? problem;
        for (const route of converted.routes) routes.push(route);
      }
    } catch (error) {
      return { routes: [], problem: problemOf(error), notes: [] };
    }
    return { routes: inPrecedence(routes), ...(problem !== undefined && { problem }), notes: [...notes] };
  },
);

interface Conversion {
  readonly q: QueryContext;
  readonly kind: RouteReference["kind"];
  backendOf(ref: RouteBackend["ref"]): RouteBackend;
  readonly notes: Set<string>;
}

function convertRule(
  conversion: Conversion,
  rule: HttpRouteRule | GrpcRouteRule,
  name: string,
): Omit<ConvertedRules<HTTPRoute>, "notes"> {
  const { routes: actions, problem } = convertActions(conversion, rule, name);
  const matches: readonly (HTTPMatchRequest | undefined)[] =
    rule.matches.length === 0
      ? [undefined]
      : rule.matches.map((match) => ("path" in match ? httpMatch(match) : grpcMatch(match)));
  const routes = matches.flatMap((match) => actions.map((each) => matchedRoute(each, match, actions.length > 1)));
  return { routes, ...(problem !== undefined && { problem }) };
}

/** @param isShared several routes have the same match, and each a share of its requests */
function matchedRoute(
  { route, upTo }: RouteWithShare,
  match: HTTPMatchRequest | undefined,
  isShared: boolean,
): HTTPRoute {
  const own = isShared ? sharedMatch(match, upTo) : match;
  return create(HTTPRouteSchema, { ...route, ...(own && { match: [own] }) });
}

/** Converts everything of a rule except its matches. */
function convertActions(
  conversion: Conversion,
  rule: HttpRouteRule | GrpcRouteRule,
  name: string,
): { readonly routes: readonly RouteWithShare[]; readonly problem?: RouteProblem | undefined } {
  const { filters, backendRefs } = rule;
  checkFilters(filters);
  const { mirrors, problem: mirrorProblem } = mirrorsOf(conversion, filters);
  const route = create(HTTPRouteSchema, { name, mirrors: [...mirrors] });
  const headers = headersOf(filters);
  if (headers !== undefined) route.headers = headers;
  applyFilters(route, filters);
  if ("retry" in rule || "timeouts" in rule) applyRetries(route, rule.retry, rule.timeouts);
  if (weightSum(backendRefs) === 0 && route.redirect === undefined) {
    // The API requires status 500 where no backend has a weight.
    route.directResponse = create(HTTPRouteSchema, { directResponse: { status: 500 } }).directResponse;
    return { routes: [{ route }], problem: mirrorProblem };
  }
  const { destinations, problem } = destinationsOf(conversion, backendRefs);
  route.route = [...destinations];
  return {
    routes: withBackendRewrites(route, filters, backendRefs),
    problem: joinProblems(problem, mirrorProblem),
  };
}

const supportedFilters: readonly RouteFilter["type"][] = [
  "RequestHeaderModifier",
  "ResponseHeaderModifier",
  "RequestRedirect",
  "RequestMirror",
  "URLRewrite",
  "CORS",
];

/** @throws InvalidRouteError for a filter that istiod does not implement */
function checkFilters(filters: readonly RouteFilter[], supported = supportedFilters): void {
  const other = filters.find(({ type }) => !supported.includes(type));
  if (other !== undefined)
    throw new InvalidRouteError({ reason: "InvalidFilter", message: `unsupported filter type "${other.type}"` });
}

function applyFilters(route: HTTPRoute, filters: readonly RouteFilter[]): void {
  for (const filter of filters) {
    if (filter.type === "RequestRedirect") route.redirect = redirectOf(filter.requestRedirect);
    if (filter.type === "CORS") route.corsPolicy = corsPolicy(filter.cors);
    const rewrite = filter.type === "URLRewrite" ? rewriteOf(filter.urlRewrite) : undefined;
    if (rewrite !== undefined) route.rewrite = rewrite;
  }
}

/**
 * Returns the mirrors of filters. One that cannot be resolved is left out of an HTTPRoute.
 *
 * @throws InvalidRouteError for one of a GRPCRoute
 */
function mirrorsOf(
  { q, kind, backendOf, notes }: Conversion,
  filters: readonly RouteFilter[],
): { readonly mirrors: readonly HTTPMirrorPolicy[]; readonly problem?: RouteProblem | undefined } {
  const mirrors: HTTPMirrorPolicy[] = [];
  let problem: RouteProblem | undefined;
  for (const filter of filters) {
    if (filter.type !== "RequestMirror") continue;
    const resolved = q.call(resolvedBackend, backendOf(filter.requestMirror.backendRef));
    if (resolved.problem !== undefined && kind === "GRPCRoute") throw new InvalidRouteError(resolved.problem);
    if (resolved.problem !== undefined) problem = resolved.problem;
    if (resolved.note !== undefined) notes.add(resolved.note);
    if (resolved.problem === undefined) mirrors.push(mirrorOf(filter.requestMirror, resolved.destination));
  }
  return { mirrors, problem };
}

function mirrorOf(
  { fraction, percent }: RequestMirror,
  destination: Parameters<typeof destinationMessage>[0],
): HTTPMirrorPolicy {
  const value = fraction === undefined ? percent : (100 * fraction.numerator) / fraction.denominator;
  return create(HTTPMirrorPolicySchema, {
    destination: destinationMessage(destination),
    ...(value !== undefined && { percentage: { value } }),
  });
}

/** Failures at which connections are retried, in addition to status codes. */
const retriedFailures = ["connect-failure", "refused-stream", "unavailable", "cancelled"];

function applyRetries(
  route: HTTPRoute,
  retry: HttpRouteRetry | undefined,
  { request = 0, backendRequest = 0 }: HttpRouteTimeouts = {},
): void {
  if (retry !== undefined) {
    const { attempts, codes, backoff } = retry;
    route.retries = create(HTTPRetrySchema, {
      attempts,
      retryOn: attempts === 0 ? "" : [...retriedFailures, ...codes].join(","),
      // Envoy has no interval of 0.
      ...(backoff !== undefined && { backoff: duration(Math.max(1, backoff)) }),
    });
  }
  if (request !== 0) route.timeout = duration(request);
  if (backendRequest === 0) return;
  if (route.retries === undefined) route.timeout = duration(backendRequest);
  else route.retries.perTryTimeout = duration(backendRequest);
}

function destinationsOf(
  { q, backendOf, notes }: Conversion,
  backendRefs: readonly HttpBackendReference[],
): { readonly destinations: readonly HTTPRouteDestination[]; readonly problem?: RouteProblem | undefined } {
  let problem: RouteProblem | undefined;
  const destinations = weighted(backendRefs).map(({ backend, weight }) => {
    const { weight: _weight, filters, ...ref } = backend;
    const resolved = q.call(resolvedBackend, backendOf(ref));
    if (resolved.problem !== undefined && resolved.isFatal) throw new InvalidRouteError(resolved.problem);
    problem = resolved.problem ?? problem;
    if (resolved.note !== undefined) notes.add(resolved.note);
    checkFilters(filters, ["RequestHeaderModifier", "ResponseHeaderModifier", "URLRewrite"]);
    const headers = headersOf(filters);
    return create(HTTPRouteDestinationSchema, {
      destination: destinationMessage(resolved.destination),
      weight,
      ...(headers !== undefined && { headers }),
    });
  });
  return { destinations, problem };
}
