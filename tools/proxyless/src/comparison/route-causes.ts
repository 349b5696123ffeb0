import { isDeepStrictEqual } from "node:util";
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { messageRegistry } from "@istiod/explain";
import type { Pair } from "@istiod/parity";
import { acceptedVirtualHosts } from "@istiod/xds-generators";
import type { CauseContext, GrpcCause } from "./cause.js";
import { clusterPolicy, type ConsistentHash } from "./cluster-policy.js";

const registry = messageRegistry();

export const routeCauses: readonly GrpcCause[] = [
  {
    name: "the form that libraries accept",
    type: "rds",
    without: ([theirs, ours]) => [accepted(theirs), ours],
  },
  {
    name: "the hash is that of the cluster's load balancer",
    type: "rds",
    without: withoutHashes,
  },
  {
    name: "retries choose other endpoints unless the cluster has a hash",
    type: "rds",
    without: withoutHostPredicates,
  },
  {
    name: "`maxStreamDuration: 0s` is written for services without a VirtualService",
    type: "rds",
    without: (pair, context) => changeActions(pair, context, withoutZeroDuration),
  },
];

/** Returns routes as the generator converts them for gRPC. */
function accepted(resource: JsonObject | undefined): JsonObject | undefined {
  if (resource === undefined) return undefined;
  const routes = fromJson(RouteConfigurationSchema, resource, { registry });
  const context = { cluster: routes.name, authorities: [], supports: () => true, endsCallsEarly: false };
  routes.virtualHosts = routes.virtualHosts.flatMap((host) => acceptedVirtualHosts(host, context));
  return toJson(RouteConfigurationSchema, routes, { registry }) as JsonObject;
}

interface RouteAction {
  readonly cluster?: string;
  readonly weightedClusters?: { readonly clusters: readonly { readonly name: string }[] };
  readonly hashPolicy?: readonly object[];
  readonly maxStreamDuration?: { readonly maxStreamDuration?: string };
  readonly retryPolicy?: { readonly retryHostPredicate?: readonly object[] };
}

interface Route {
  readonly route?: RouteAction;
}

interface Routes {
  readonly virtualHosts?: readonly { readonly routes?: readonly Route[] }[];
}

type Change = (theirs: RouteAction, ours: RouteAction, context: CauseContext) => readonly [RouteAction, RouteAction];

/** Changes the actions of routes that both have in the same place; none if the places differ. */
function changeActions([theirs, ours]: Pair, context: CauseContext, change: Change): Pair {
  if (theirs === undefined || ours === undefined) return [theirs, ours];
  const [first, second] = [structuredClone(theirs), structuredClone(ours)];
  const [a, b] = [first, second].map((each) =>
    ((each as Routes).virtualHosts ?? []).map(({ routes = [] }) => routes as { route?: RouteAction }[]),
  );
  if (a === undefined || b === undefined || !isDeepStrictEqual(lengths(a), lengths(b))) return [theirs, ours];
  for (const [i, routes] of a.entries())
    for (const [j, left] of routes.entries()) {
      const right = b[i]?.[j];
      if (left.route === undefined || right?.route === undefined) continue;
      if (isDeepStrictEqual(clustersOf(left.route), clustersOf(right.route)))
        [left.route, right.route] = change(left.route, right.route, context);
    }
  return [first, second];
}

const lengths = (routes: readonly (readonly Route[])[]): readonly number[] => routes.map(({ length }) => length);

const clustersOf = ({ cluster, weightedClusters }: RouteAction): readonly string[] =>
  cluster === undefined ? (weightedClusters?.clusters ?? []).map(({ name }) => name) : [cluster];

/** Removes a limit of zero, which is none, if Istio's route has no limit. */
function withoutZeroDuration(theirs: RouteAction, ours: RouteAction): readonly [RouteAction, RouteAction] {
  const { maxStreamDuration: limit, ...second } = ours;
  const isZero = isDeepStrictEqual(limit, { maxStreamDuration: "0s" });
  return [theirs, isZero && theirs.maxStreamDuration === undefined ? second : ours];
}

/** Removes hashes that differ, if those here are the hashes of the load balancers of the route's clusters. */
function withoutHashes(pair: Pair, context: CauseContext): Pair {
  return changeActions(pair, context, (theirs, ours, { objects }) => {
    const hashes = clustersOf(ours).flatMap((cluster) =>
      expectedHash(clusterPolicy(objects, cluster).loadBalancer?.consistentHash),
    );
    if (isDeepStrictEqual(theirs.hashPolicy, ours.hashPolicy)) return [theirs, ours];
    if (!isDeepStrictEqual(unique(ours.hashPolicy ?? []), unique(hashes))) return [theirs, ours];
    const { hashPolicy: _first, ...first } = theirs;
    const { hashPolicy: _second, ...second } = ours;
    return [first, second];
  });
}

/** Returns hash policies without repetitions: a cluster that a route names twice is one here. */
const unique = (policies: readonly object[]): readonly string[] => [
  ...new Set(policies.map((each) => JSON.stringify(each))),
];

function expectedHash({ httpHeaderName, useSourceIp }: ConsistentHash = {}): readonly object[] {
  if (httpHeaderName !== undefined) return [{ header: { headerName: httpHeaderName } }];
  return useSourceIp === true ? [{ filterState: { key: "io.grpc.channel_id" } }] : [];
}

const previousHosts = [
  {
    name: "envoy.retry_host_predicates.previous_hosts",
    typedConfig: {
      "@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate",
    },
  },
];

/** Removes the choice of other endpoints for retries, if here it is absent only where the only cluster has a hash. */
function withoutHostPredicates(pair: Pair, context: CauseContext): Pair {
  return changeActions(pair, context, (theirs, ours, { objects }) => {
    const [first, second] = [theirs.retryPolicy, ours.retryPolicy];
    if (first === undefined || second === undefined) return [theirs, ours];
    const hash = ours.cluster && clusterPolicy(objects, ours.cluster).loadBalancer?.consistentHash;
    const [expected, other] = hash ? [undefined, previousHosts] : [previousHosts, undefined];
    const isKnown =
      isDeepStrictEqual(second.retryHostPredicate, expected) && isDeepStrictEqual(first.retryHostPredicate, other);
    if (!isKnown) return [theirs, ours];
    const { retryHostPredicate: _first, ...left } = first;
    const { retryHostPredicate: _second, ...right } = second;
    return [
      { ...theirs, retryPolicy: left },
      { ...ours, retryPolicy: right },
    ];
  });
}
