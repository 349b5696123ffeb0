import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import type { RuntimeFractionalPercent } from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  type Route,
  type RouteAction,
  RouteAction_ClusterNotFoundResponseCode,
  RouteAction_MaxStreamDurationSchema,
  type RouteAction_RequestMirrorPolicy,
  RouteAction_RequestMirrorPolicySchema,
  RouteActionSchema,
  type WeightedCluster_ClusterWeight,
  WeightedCluster_ClusterWeightSchema,
  WeightedClusterSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { RegexMatchAndSubstituteSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/regex";
import type { QueryContext } from "@istiod/incremental";
import type {
  Destination,
  HTTPRewrite,
  HTTPRoute,
  HTTPRouteDestination,
  Percent,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { features, mesh, proxyConfig, proxylessGrpc, type RouteSemantics } from "@istiod/push-context";
import { fractionalPercent, runtimePercent, wholePercent } from "../../envoy/percent.js";
import { quoteRegex } from "../../security/value-matcher.js";
import { destinationCluster, destinationHash, type DestinationTraits } from "./destinations.js";
import { hashPolicy } from "./hash-policy.js";
import { headerOperations } from "./header-operations.js";
import { outboundRetryPolicy } from "./retry-policy.js";

/** What the destinations of a route are looked at with. */
export interface DestinationContext {
  readonly semantics: RouteSemantics;
  /** The port that requests came to. */
  readonly port: number;
  traitsOf(host: string): DestinationTraits | undefined;
}

/**
 * Gives a route its action of forwarding: to one cluster or to several by weight, with timeout, retries, rewrites and mirrors.
 * Headers of a single destination are added to the route's own.
 */
export function setForwardingAction(
  q: QueryContext,
  out: Route,
  route: HTTPRoute,
  authorityOfHeaders: string,
  context: DestinationContext,
): void {
  const action = create(RouteActionSchema);
  setTimeouts(action, route.timeout, q.ask(proxylessGrpc));
  if (context.semantics === "gateway-api") {
    action.clusterNotFoundResponseCode = RouteAction_ClusterNotFoundResponseCode.INTERNAL_SERVER_ERROR;
  }
  if (route.rewrite !== undefined) {
    action.appendXForwardedHost = proxyConfig(q, "proxyHeaders")?.xForwardedHost?.enabled === true;
    rewritePath(action, route.rewrite, out, context.semantics);
  }
  const authority = route.rewrite?.authority || authorityOfHeaders;
  if (authority !== "") {
    action.hostRewriteSpecifier = { case: "hostRewriteLiteral", value: authority };
  }
  action.requestMirrorPolicies = mirrorPolicies(q, route, context);
  const [only] = route.route;
  let hashed = false;
  if (only !== undefined && route.route.length === 1) {
    setSingleCluster(out, action, only, context);
    hashed = addHashPolicy(q, action, only, context);
  } else {
    const weighted = route.route.filter((destination) => destination.weight !== 0);
    const clusters = weighted.map((destination) => clusterWeight(destination, context));
    action.clusterSpecifier = { case: "weightedClusters", value: create(WeightedClusterSchema, { clusters }) };
    weighted.forEach((destination) => addHashPolicy(q, action, destination, context));
  }
  const retryPolicy = outboundRetryPolicy(route.retries ?? mesh(q).defaultHttpRetryPolicy, hashed);
  if (retryPolicy !== undefined) {
    action.retryPolicy = retryPolicy;
  }
  out.action = { case: "route", value: action };
}

/** No timeout unless asked; a request's own gRPC timeout is heeded up to that. gRPC applications read another field. */
export function setTimeouts(action: RouteAction, timeout: Duration = noTimeout(), proxyless = false): void {
  action.timeout = timeout;
  if (proxyless) {
    action.maxStreamDuration = create(RouteAction_MaxStreamDurationSchema, { maxStreamDuration: timeout });
  } else {
    action.maxGrpcTimeout = timeout;
  }
}

/** Zero, which to Envoy is no limit. */
export function noTimeout(): Duration {
  return create(DurationSchema);
}

function rewritePath(
  action: RouteAction,
  { uri, uriRegexRewrite }: HTTPRewrite,
  { match }: Route,
  semantics: RouteSemantics,
): void {
  if (uriRegexRewrite !== undefined) {
    setRegexRewrite(action, uriRegexRewrite.match, uriRegexRewrite.rewrite);
  } else if (uri === "/" && semantics === "gateway-api") {
    const prefix = match?.pathSpecifier.case === "pathSeparatedPrefix" ? match.pathSpecifier.value : "";
    setRegexRewrite(action, `^${quoteRegex(prefix)}(/?)(.*)`, "/\\2");
  } else if (uri !== "") {
    action.prefixRewrite = uri;
  }
}

function setRegexRewrite(action: RouteAction, regex: string, substitution: string): void {
  action.regexRewrite = create(RegexMatchAndSubstituteSchema, { pattern: { regex }, substitution });
}

function setSingleCluster(
  out: Route,
  action: RouteAction,
  { destination, headers }: HTTPRouteDestination,
  context: DestinationContext,
): void {
  action.clusterSpecifier = { case: "cluster", value: clusterNameOf(destination, context) };
  if (headers === undefined) {
    return;
  }
  const operations = headerOperations(headers);
  out.requestHeadersToAdd.push(...operations.requestHeadersToAdd);
  out.requestHeadersToRemove.push(...operations.requestHeadersToRemove);
  out.responseHeadersToAdd.push(...operations.responseHeadersToAdd);
  out.responseHeadersToRemove.push(...operations.responseHeadersToRemove);
  if (operations.authority !== "" && action.hostRewriteSpecifier.case === undefined) {
    action.hostRewriteSpecifier = { case: "hostRewriteLiteral", value: operations.authority };
  }
}

function clusterWeight(
  { destination, headers, weight }: HTTPRouteDestination,
  context: DestinationContext,
): WeightedCluster_ClusterWeight {
  const out = create(WeightedCluster_ClusterWeightSchema, { name: clusterNameOf(destination, context), weight });
  if (headers !== undefined) {
    const { authority, ...operations } = headerOperations(headers);
    Object.assign(out, operations);
    if (authority !== "") {
      out.hostRewriteSpecifier = { case: "hostRewriteLiteral", value: authority };
    }
  }
  return out;
}

function addHashPolicy(
  q: QueryContext,
  action: RouteAction,
  { destination }: HTTPRouteDestination,
  context: DestinationContext,
): boolean {
  const hash = destination && destinationHash(q, destination, context.traitsOf(destination.host));
  const policy = hash && hashPolicy(hash);
  if (policy !== undefined) {
    action.hashPolicy.push(policy);
  }
  return hash !== undefined;
}

function mirrorPolicies(
  q: QueryContext,
  route: HTTPRoute,
  context: DestinationContext,
): RouteAction_RequestMirrorPolicy[] {
  const mirrors = [
    ...(route.mirror === undefined
      ? []
      : [{ destination: route.mirror, share: mirrorShare(route.mirrorPercentage, route.mirrorPercent) }]),
    ...route.mirrors.map(({ destination, percentage }) => ({ destination, share: mirrorShare(percentage) })),
  ];
  return mirrors.flatMap(({ destination, share }) =>
    destination === undefined || share === undefined
      ? []
      : create(RouteAction_RequestMirrorPolicySchema, {
          cluster: clusterNameOf(destination, context),
          runtimeFraction: share,
          traceSampled: false,
          disableShadowHostSuffixAppend: features.disableShadowHostSuffix(q),
        }),
  );
}

/** How much is mirrored: everything unless stated; undefined for nothing. */
function mirrorShare(percentage: Percent | undefined, percent?: number): RuntimeFractionalPercent | undefined {
  if (percentage !== undefined) {
    return percentage.value > 0 ? runtimePercent(fractionalPercent(percentage.value)) : undefined;
  }
  return percent === 0 ? undefined : runtimePercent(wholePercent(percent ?? 100));
}

function clusterNameOf(destination: Destination | undefined, { port, traitsOf }: DestinationContext): string {
  return destination === undefined
    ? "UnknownService"
    : destinationCluster(destination, traitsOf(destination.host), port);
}
