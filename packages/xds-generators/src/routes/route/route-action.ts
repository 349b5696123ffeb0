import { create } from "@bufbuild/protobuf";
import {
  type Route,
  type RouteAction,
  RouteAction_ClusterNotFoundResponseCode,
  RouteActionSchema,
  type WeightedCluster_ClusterWeight,
  WeightedCluster_ClusterWeightSchema,
  WeightedClusterSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import type { QueryContext } from "@istiod/incremental";
import type { HTTPRoute, HTTPRouteDestination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { mesh, proxyConfig, isProxylessGrpc } from "@istiod/push-context";
import { clusterNameOf, type DestinationContext, destinationHash } from "./destinations.js";
import { hashPolicy } from "./hash-policy.js";
import { headerOperations } from "./header-operations.js";
import { mirrorPolicies } from "./mirror-policies.js";
import { rewritePath } from "./path-rewrite.js";
import { outboundRetryPolicy } from "./retry-policy.js";
import { setTimeouts } from "./route-timeouts.js";

/**
 * Sets the route's forwarding action: a single cluster or weighted clusters, with timeout, retries, rewrites and
 * mirrors. Header manipulations of a single destination are added to the route's own.
 */
export function setForwardingAction(
  q: QueryContext,
  out: Route,
  route: HTTPRoute,
  authorityOfHeaders: string,
  context: DestinationContext,
): void {
  const action = create(RouteActionSchema);
  setTimeouts(action, route.timeout, q.ask(isProxylessGrpc));
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
  const hash = destination && destinationHash(q, destination, context);
  const policy = hash && hashPolicy(hash);
  if (policy !== undefined) {
    action.hashPolicy.push(policy);
  }
  return hash !== undefined;
}
