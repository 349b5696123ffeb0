import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import type { GrpcTypeName } from "@istiod/bench";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { messageRegistry } from "@istiod/explain";
import { acceptedVirtualHosts } from "@istiod/xds-generators";

const registry = messageRegistry();

/** A resource of Istio and of this control plane; undefined if one has none. */
export type Pair = readonly [theirs: JsonObject | undefined, ours: JsonObject | undefined];

/** A difference on purpose (docs/proxyless-grpc.md). */
export interface Cause {
  readonly name: string;
  readonly type: GrpcTypeName;
  /** Returns the resources without the difference. */
  readonly without: (pair: Pair, name: string) => Pair;
}

/** Applies a function to both resources, if there are both. */
const both =
  (change: (resource: JsonObject) => JsonObject): Cause["without"] =>
  ([theirs, ours]) =>
    theirs && ours ? [change(theirs), change(ours)] : [theirs, ours];
/** Removes fields of both resources, at any depth. */
const withoutFields = (...fields: readonly string[]): Cause["without"] =>
  both((resource) => omit(resource, (key) => fields.includes(key)));

export const causes: readonly Cause[] = [
  {
    name: "a server's listener without a Service",
    type: "lds",
    without: ([theirs, ours], name) =>
      theirs === undefined && name.startsWith("xds.istio.io/grpc/lds/inbound/") ? [ours, ours] : [theirs, ours],
  },
  { name: "a policy that allows nothing", type: "lds", without: withoutEmptyAllow },
  { name: "terms of policies that gRPC does not evaluate", type: "lds", without: withoutUnknownTerms },
  {
    name: "routes in the form that libraries accept",
    type: "rds",
    without: ([theirs, ours]) => [accepted(theirs), ours],
  },
  {
    name: "the hash is that of the cluster's load balancer",
    type: "rds",
    without: withoutFields("hashPolicy", "retryHostPredicate"),
  },
  {
    name: "no limit of a call's duration is written",
    type: "rds",
    without: both((resource) => omit(resource, (key, value) => key === "maxStreamDuration" && isZero(value))),
  },
  {
    name: "a load balancer that all libraries accept",
    type: "cds",
    without: withoutFields(
      "lbPolicy",
      "loadBalancingPolicy",
      "maglevLbConfig",
      "ringHashLbConfig",
      "leastRequestLbConfig",
    ),
  },
  { name: "outliers by the share of failed calls", type: "cds", without: withoutFields("outlierDetection") },
  { name: "TLS by the mesh's certificates", type: "cds", without: withoutFields("transportSocket") },
  {
    name: "a hostname is resolved by the client",
    type: "cds",
    without: ([theirs, ours]) =>
      ours?.["type"] === "LOGICAL_DNS"
        ? withoutFields("type", "loadAssignment", "edsClusterConfig")([theirs, ours], "")
        : [theirs, ours],
  },
  { name: "an address occurs once", type: "eds", without: both(withoutDuplicates) },
];

function omit(value: unknown, isOmitted: (key: string, value: unknown) => boolean): never {
  if (Array.isArray(value)) return value.map((each) => omit(each, isOmitted) as unknown) as never;
  if (typeof value !== "object" || value === null) return value as never;
  const kept = Object.entries(value).filter(([key, inner]) => !isOmitted(key, inner));
  return Object.fromEntries(kept.map(([key, inner]) => [key, omit(inner, isOmitted) as unknown])) as never;
}

function isZero(value: unknown): boolean {
  return JSON.stringify(value) === '{"maxStreamDuration":"0s"}';
}

/** Returns routes as the generator converts them for gRPC. */
function accepted(resource: JsonObject | undefined): JsonObject | undefined {
  if (resource === undefined) return undefined;
  const routes = fromJson(RouteConfigurationSchema, resource, { registry });
  const context = { cluster: routes.name, authorities: [], supports: () => true, endsCallsEarly: false };
  routes.virtualHosts = routes.virtualHosts.flatMap((host) => acceptedVirtualHosts(host, context));
  return toJson(RouteConfigurationSchema, routes, { registry }) as JsonObject;
}

interface RbacFilter {
  readonly name: string;
  readonly typedConfig: { readonly rules?: { readonly action?: string; readonly policies?: Record<string, object> } };
}

/** Calls a function for the RBAC filters of a listener, and returns the listener with its results. */
function mapFilters(
  listener: JsonObject,
  change: (filters: readonly RbacFilter[]) => readonly RbacFilter[],
): JsonObject {
  return JSON.parse(
    JSON.stringify(listener, (key, value: unknown) =>
      key === "httpFilters" ? change(value as readonly RbacFilter[]) : value,
    ),
  ) as JsonObject;
}

const allowsNothing = '{"permissions":[{"notRule":{"any":true}}],"principals":[{"notId":{"any":true}}]}';

/** Removes policies that allow nothing, for which Istio sends none, and filters without others. */
function withoutEmptyAllow([theirs, ours]: Pair): Pair {
  if (theirs === undefined || ours === undefined) return [theirs, ours];
  const isNone = (policy: object): boolean => JSON.stringify(policy) === allowsNothing;
  const changed = mapFilters(ours, (filters) =>
    filters.flatMap((filter) =>
      Object.values(filter.typedConfig.rules?.policies ?? {}).some(isNone)
        ? selectPolicies(filter, (policy) => !isNone(policy))
        : [filter],
    ),
  );
  return [theirs, changed];
}

const unknownTerms = /"(uriTemplate|metadata|requestedServerName|sourcedMetadata|filterState)":/;

/** Removes policies with terms that gRPC does not evaluate, and what stands for them here. */
function withoutUnknownTerms([theirs, ours]: Pair): Pair {
  if (theirs === undefined || ours === undefined || !unknownTerms.test(JSON.stringify(theirs))) return [theirs, ours];
  const known = new Set<string>();
  const keyOf = (filter: RbacFilter, policy: object): string => `${filter.name} ${JSON.stringify(policy)}`;
  const first = mapFilters(theirs, (filters) =>
    filters.flatMap((filter) =>
      selectPolicies(filter, (policy) => {
        const isKnown = !unknownTerms.test(JSON.stringify(policy));
        if (isKnown) known.add(keyOf(filter, policy));
        return isKnown;
      }),
    ),
  );
  const second = mapFilters(ours, (filters) =>
    filters.flatMap((filter) => selectPolicies(filter, (policy) => known.has(keyOf(filter, policy)))),
  );
  return [first, second];
}

/** Returns a filter with some of its policies; none if no policy is left. Other filters stay. */
function selectPolicies(filter: RbacFilter, isSelected: (policy: object) => boolean): readonly RbacFilter[] {
  const { typedConfig } = filter;
  if (typedConfig.rules === undefined) return [filter];
  const selected = Object.entries(typedConfig.rules.policies ?? {}).filter(([, policy]) => isSelected(policy));
  if (selected.length === 0) return [];
  const policies = Object.fromEntries(selected);
  return [{ ...filter, typedConfig: { ...typedConfig, rules: { ...typedConfig.rules, policies } } }];
}

interface Locality {
  readonly priority?: number;
  readonly lbEndpoints?: readonly { readonly endpoint: object; readonly loadBalancingWeight?: number }[];
}

/**
 * Keeps the first endpoint of each address, in the order of priorities. Which one is first in a priority depends on the
 * order of localities, so that localities and what an endpoint says of its workload are left out.
 */
function withoutDuplicates(resource: JsonObject): JsonObject {
  const { endpoints = [], ...rest } = resource as { endpoints?: readonly Locality[] };
  const seen = new Set<string>();
  const kept = endpoints
    .toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0))
    .map(({ priority = 0, lbEndpoints = [] }) => ({
      priority,
      addresses: lbEndpoints.flatMap(({ endpoint }) => {
        const address = JSON.stringify(endpoint);
        if (seen.has(address)) return [];
        seen.add(address);
        return [address];
      }),
    }));
  const priorities = [...new Set(kept.filter(({ addresses }) => addresses.length > 0).map(({ priority }) => priority))];
  const addresses = priorities.map((each) =>
    kept.flatMap(({ priority, addresses: own }) => (priority === each ? own : [])).sort(),
  );
  return { ...rest, addresses } as JsonObject;
}
