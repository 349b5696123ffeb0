import { create } from "@bufbuild/protobuf";
import {
  DecoratorSchema,
  type Route,
  RouteAction_MaxStreamDurationSchema,
  type RouteAction_HashPolicy,
  type RouteAction,
  RouteActionSchema,
  RouteSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import type { QueryContext } from "@istiod/incremental";
import { mesh } from "@istiod/push-context";
import { isGrpc, type Protocol } from "@istiod/service-discovery";
import { inboundRetry, outboundRetry } from "./retry.js";
import { noTimeout, setTimeouts } from "./route-action.js";
import { anyRequest } from "./route-match.js";

/** The one route to a service that no VirtualService routes: no timeout, and the mesh's retries. */
export function defaultOutboundRoute(q: QueryContext, cluster: string, operation: string, hash?: RouteAction_HashPolicy): Route {
  const action = toCluster(cluster);
  setTimeouts(action);
  action.hashPolicy = hash === undefined ? [] : [hash];
  const retryPolicy = outboundRetry(mesh(q).defaultHttpRetryPolicy, false);
  if (retryPolicy !== undefined) {
    action.retryPolicy = retryPolicy;
  }
  return named("default", action, operation);
}

/** The one route to a port of the own workload; requests over gRPC are not retried, as their streams may have begun. */
export function defaultInboundRoute(q: QueryContext, cluster: string, operation: string, protocol: Protocol): Route {
  const action = toCluster(cluster);
  action.timeout = noTimeout();
  action.maxStreamDuration = create(RouteAction_MaxStreamDurationSchema, { maxStreamDuration: noTimeout(), grpcTimeoutHeaderMax: noTimeout() });
  const retryPolicy = isGrpc(protocol) ? undefined : inboundRetry(mesh(q).defaultInboundHttpRetryPolicy);
  if (retryPolicy !== undefined) {
    action.retryPolicy = retryPolicy;
  }
  return named("default", action, operation);
}

/** A route of every request to a cluster, as it came and without timeout. */
export function passThroughRoute(name: string, cluster: string, appendXForwardedHost: boolean): Route {
  const action = toCluster(cluster);
  setTimeouts(action);
  action.appendXForwardedHost = appendXForwardedHost;
  return create(RouteSchema, { name, match: anyRequest(), action: { case: "route", value: action } });
}

function toCluster(cluster: string): RouteAction {
  return create(RouteActionSchema, { clusterSpecifier: { case: "cluster", value: cluster } });
}

function named(name: string, action: RouteAction, operation: string): Route {
  return create(RouteSchema, { name, match: anyRequest(), action: { case: "route", value: action }, decorator: create(DecoratorSchema, { operation }) });
}
