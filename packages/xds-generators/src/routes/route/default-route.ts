import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  DecoratorSchema,
  type Route,
  type RouteAction_HashPolicy,
  RouteAction_MaxStreamDurationSchema,
  RouteActionSchema,
  RouteSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { query, type QueryContext } from "@istiod/incremental";
import { encodeMessageField, encodeStringField, joinEncoded } from "@istiod/protobuf-wire";
import { isProxylessGrpc, mesh } from "@istiod/push-context";
import { isGrpc, type Protocol } from "@istiod/service-discovery";
import { inboundRetryPolicy, outboundRetryPolicy } from "./retry-policy.js";
import { anyRequest } from "./route-match.js";
import { noTimeout, setTimeouts } from "./route-timeouts.js";

/**
 * Returns the route to a service without a VirtualService, encoded: without timeout and with the mesh's retry policy.
 */
export function defaultOutboundRoute(
  q: QueryContext,
  cluster: string,
  operation: string,
  hash?: RouteAction_HashPolicy,
): Uint8Array {
  return defaultRoute(cluster, operation, [
    q.call(defaultOutboundAction),
    ...(hash === undefined ? [] : [encodeAction({ hashPolicy: [hash] })]),
  ]);
}

/**
 * Returns the route to a port of the client's workload, encoded. gRPC requests are not retried, since their streams may
 * have started.
 */
export function defaultInboundRoute(
  q: QueryContext,
  cluster: string,
  operation: string,
  protocol: Protocol,
): Uint8Array {
  return defaultRoute(cluster, operation, [q.call(defaultInboundAction, { retries: !isGrpc(protocol) })]);
}

/** Returns a route that forwards every request unchanged to a cluster, without timeout. */
export function passthroughRoute(name: string, cluster: string, appendXForwardedHost: boolean): Route {
  const action = create(RouteActionSchema, { clusterSpecifier: { case: "cluster", value: cluster } });
  setTimeouts(action);
  action.appendXForwardedHost = appendXForwardedHost;
  return create(RouteSchema, { name, match: anyRequest(), action: { case: "route", value: action } });
}

/** The action shared by all default outbound routes, encoded. */
const defaultOutboundAction = query("defaultOutboundAction", (q): Uint8Array => {
  const retryPolicy = outboundRetryPolicy(mesh(q).defaultHttpRetryPolicy, false);
  const message = create(RouteActionSchema, { ...(retryPolicy && { retryPolicy }) });
  setTimeouts(message, noTimeout(), q.ask(isProxylessGrpc));
  return toBinary(RouteActionSchema, message);
});

/** The action shared by all default inbound routes, encoded. */
const defaultInboundAction = query(
  "defaultInboundAction",
  (q, { retries }: { readonly retries: boolean }): Uint8Array => {
    const retryPolicy = retries ? inboundRetryPolicy(mesh(q).defaultInboundHttpRetryPolicy) : undefined;
    return encodeAction({
      timeout: noTimeout(),
      maxStreamDuration: create(RouteAction_MaxStreamDurationSchema, {
        maxStreamDuration: noTimeout(),
        grpcTimeoutHeaderMax: noTimeout(),
      }),
      ...(retryPolicy && { retryPolicy }),
    });
  },
);

function encodeAction(init: MessageInitShape<typeof RouteActionSchema>): Uint8Array {
  return toBinary(RouteActionSchema, create(RouteActionSchema, init));
}

/** Returns a route of every request to a cluster, with encoded parts of its action. */
function defaultRoute(cluster: string, operation: string, action: readonly Uint8Array[]): Uint8Array {
  const { route, decorator } = RouteSchema.field;
  return joinEncoded([
    encodedDefaultMatch,
    encodeMessageField(route.number, [encodeStringField(RouteActionSchema.field.cluster.number, cluster), ...action]),
    encodeMessageField(decorator.number, [encodeStringField(DecoratorSchema.field.operation.number, operation)]),
  ]);
}

const encodedDefaultMatch = toBinary(RouteSchema, create(RouteSchema, { name: "default", match: anyRequest() }));
