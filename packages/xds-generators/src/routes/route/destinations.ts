import { query, type QueryContext } from "@istiod/incremental";
import type {
  LoadBalancerSettings_ConsistentHashLB as ConsistentHash,
  TrafficPolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { Destination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { destinationRuleFor, type RouteSemantics, findSubset } from "@istiod/push-context";
import type { Service } from "@istiod/service-discovery";
import { outboundClusterName } from "../../resource-names.js";
import { type SessionKey, sessionKeyOf } from "./stateful-session.js";

/**
 * Properties of a destination's service that affect routes to it. Almost all services have none, so the routes of a
 * VirtualService are usually the same for every scope and built once.
 */
export interface DestinationTraits {
  readonly host: string;
  /** The target host of an ExternalName service. */
  readonly externalName?: string;
  /** The service's only port, if it differs from the request's. */
  readonly port?: number;
  readonly session?: SessionKey;
  /** The namespace of the service, if a DestinationRule has a consistent hash. */
  readonly hashNamespace?: string;
}

/**
 * Returns the traits of a destination; undefined if it has none. `service` is what the host resolves to for these
 * routes; `hashNamespace` is the namespace of what it resolves to in the client's scope, if requests are hashed.
 */
export function destinationTraits(
  q: QueryContext,
  host: string,
  port: number,
  service: Service | undefined,
  hashNamespace: string | undefined,
): DestinationTraits | undefined {
  const [only] = service?.ports ?? [];
  const session = service && sessionKeyOf(q, service);
  const traits = {
    ...(service === undefined || service.externalName === "" ? {} : { externalName: service.externalName }),
    ...(only !== undefined && service?.ports.length === 1 && only.number !== port ? { port: only.number } : {}),
    ...(session && { session }),
    ...(hashNamespace === undefined ? {} : { hashNamespace }),
  };
  return Object.keys(traits).length === 0 ? undefined : { host, ...traits };
}

/** Returns the cluster name of a destination for requests that arrived at `listenerPort`. */
export function destinationCluster(
  { host, port, subset }: Destination,
  traits: DestinationTraits | undefined,
  listenerPort: number,
): string {
  if (host === "") {
    return "UnknownService";
  }
  return outboundClusterName(traits?.externalName ?? host, port?.number ?? traits?.port ?? listenerPort, subset);
}

/**
 * Returns the consistent hash of a destination: that of the subset's port, the subset, the port or the rule, in this
 * order.
 */
export function destinationHash(
  q: QueryContext,
  { host, port, subset }: Destination,
  traits: DestinationTraits | undefined,
): ConsistentHash | undefined {
  if (traits?.hashNamespace === undefined) {
    return undefined;
  }
  const rule = q.call(destinationRuleFor, { host, serviceNamespace: traits.hashNamespace })?.spec;
  const ofSubset = findSubset(rule, subset)?.trafficPolicy;
  return (
    portHash(ofSubset, port?.number) ??
    policyHash(ofSubset) ??
    portHash(rule?.trafficPolicy, port?.number) ??
    policyHash(rule?.trafficPolicy)
  );
}

/** Returns the consistent hash of a service's port without a VirtualService. */
export function serviceHash(
  q: QueryContext,
  host: string,
  serviceNamespace: string,
  port: number,
): ConsistentHash | undefined {
  const policy = q.call(destinationRuleFor, { host, serviceNamespace })?.spec.trafficPolicy;
  return portHash(policy, port) ?? policyHash(policy);
}

/** Reports whether the DestinationRule of a service has a consistent hash. */
export const hasConsistentHash = query(
  "destinationHashes",
  (q, of: { readonly host: string; readonly serviceNamespace: string }): boolean => {
    const rule = q.call(destinationRuleFor, of)?.spec;
    const policies = [rule?.trafficPolicy, ...(rule?.subsets.map((subset) => subset.trafficPolicy) ?? [])];
    return policies.some(
      (policy) =>
        policyHash(policy) !== undefined ||
        policy?.portLevelSettings.some((settings) => hashOf(settings) !== undefined),
    );
  },
  { key: ({ host, serviceNamespace }) => `${serviceNamespace}/${host}` },
);

function policyHash(policy: TrafficPolicy | undefined): ConsistentHash | undefined {
  return policy && hashOf(policy);
}

function portHash(policy: TrafficPolicy | undefined, port: number | undefined): ConsistentHash | undefined {
  const settings =
    port === undefined ? undefined : policy?.portLevelSettings.find((candidate) => candidate.port?.number === port);
  return settings && hashOf(settings);
}

function hashOf({ loadBalancer }: Pick<TrafficPolicy, "loadBalancer">): ConsistentHash | undefined {
  const policy = loadBalancer?.lbPolicy;
  return policy?.case === "consistentHash" ? policy.value : undefined;
}
/** Context needed to resolve a route's destinations. */
export interface DestinationContext {
  readonly semantics: RouteSemantics;
  /** The port at which requests arrived. */
  readonly port: number;
  traitsOf(host: string): DestinationTraits | undefined;
}
export function clusterNameOf(destination: Destination | undefined, { port, traitsOf }: DestinationContext): string {
  return destination === undefined
    ? "UnknownService"
    : destinationCluster(destination, traitsOf(destination.host), port);
}
