import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import {
  type RetryPolicy,
  type RouteAction,
  type RouteAction_HashPolicy,
  RouteAction_HashPolicySchema,
  RouteActionSchema,
  WeightedClusterSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import type { AcceptedRouteContext } from "./accepted-route-context.js";

/** The filter state by which calls of a channel have one hash (gRFC A42). */
const channelId = "io.grpc.channel_id";

/**
 * Returns the forwarding of a route with the settings that gRPC has: clusters and their weights, the limit of a call's
 * duration, retries, and hashes. Undefined if it forwards to no cluster.
 */
export function acceptedForwarding(
  action: Pick<RouteAction, "clusterSpecifier"> & Partial<RouteAction>,
  { endsCallsEarly }: AcceptedRouteContext,
): RouteAction | undefined {
  const clusterSpecifier = acceptedClusters(action.clusterSpecifier);
  if (clusterSpecifier === undefined) return undefined;
  const { timeout, retryPolicy, hashPolicy = [] } = action;
  const maxStreamDuration = action.maxStreamDuration?.maxStreamDuration;
  return create(RouteActionSchema, {
    clusterSpecifier,
    ...(timeout && { timeout }),
    ...(maxStreamDuration && {
      maxStreamDuration: {
        maxStreamDuration: endsCallsEarly ? withReserve(maxStreamDuration) : maxStreamDuration,
      },
    }),
    ...(retryPolicy && isRetried(retryPolicy) && { retryPolicy }),
    hashPolicy: hashPolicy.flatMap(acceptedHash),
  });
}

function acceptedClusters(specifier: RouteAction["clusterSpecifier"]): RouteAction["clusterSpecifier"] | undefined {
  if (specifier.case === "cluster") return specifier;
  if (specifier.case !== "weightedClusters") return undefined;
  const weights = new Map<string, number>();
  for (const { name, weight = 0 } of specifier.value.clusters)
    if (weight > 0) weights.set(name, (weights.get(name) ?? 0) + weight);
  const clusters = [...weights].map(([name, weight]) => ({ name, weight }));
  return clusters.length === 0
    ? undefined
    : { case: "weightedClusters", value: create(WeightedClusterSchema, { clusters }) };
}

/** Libraries reject a policy without retries, and a backoff of no time. */
function isRetried({ numRetries = 1, retryBackOff }: RetryPolicy): boolean {
  const { seconds = 1n, nanos = 0 } = retryBackOff?.baseInterval ?? {};
  return numRetries > 0 && (seconds > 0n || nanos > 0);
}

/** Returns how calls are hashed. A client is one source, and calls have no cookies and no query parameters. */
function acceptedHash({ policySpecifier: by, terminal }: RouteAction_HashPolicy): readonly RouteAction_HashPolicy[] {
  switch (by.case) {
    case "header": {
      const value = { ...by.value, headerName: by.value.headerName.toLowerCase() };
      return [create(RouteAction_HashPolicySchema, { policySpecifier: { case: "header", value }, terminal })];
    }
    case "connectionProperties":
      return by.value.sourceIp
        ? [
            create(RouteAction_HashPolicySchema, {
              policySpecifier: { case: "filterState", value: { key: channelId } },
              terminal,
            }),
          ]
        : [];
    default:
      return [];
  }
}

/** The time by which some libraries end calls too early, in seconds. */
const reserve = 2n;

function withReserve(limit: Duration): Duration {
  return limit.seconds === 0n && limit.nanos === 0 ? limit : { ...limit, seconds: limit.seconds + reserve };
}
