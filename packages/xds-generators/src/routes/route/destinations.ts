import { query, type QueryContext } from "@istiod/incremental";
import type {
  LoadBalancerSettings_ConsistentHashLB as ConsistentHash,
  TrafficPolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { Destination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import {
  destinationRuleFor,
  findSubset,
  type PolicyTarget,
  type RouteSemantics,
  subsetPolicy,
} from "@istiod/push-context";
import { type EndpointPicker, endpointPickerOf, isInferencePool, type Service } from "@istiod/service-discovery";
import { outboundClusterName } from "../../resource-names.js";
import { type SessionKey, sessionKeyOf } from "./stateful-session.js";

/**
 * Properties of a destination's service that affect routes to it. Almost all services have none, so the routes of a
 * VirtualService are usually the same for every scope and built once.
 */
export interface DestinationTraits {
  readonly host: string;
  /** The host that it is an alias of (ExternalName). The other traits are those of this host. */
  readonly aliasedHost?: string;
  /** The service's only port, if it differs from the request's. */
  readonly port?: number;
  readonly session?: SessionKey;
  /** The server that picks an endpoint for each request, of an InferencePool. */
  readonly picker?: EndpointPicker;
  /** The namespace of the service, if a DestinationRule has a consistent hash. */
  readonly hashNamespace?: string;
}

/**
 * Returns the traits of a destination; undefined if it has none. `service` is what the host resolves to for these
 * routes, that of `aliasedHost` if it is an alias; `hashNamespace` is the namespace of what it resolves to in the
 * client's scope, if requests are hashed.
 */
export function destinationTraits(
  q: QueryContext,
  host: string,
  port: number,
  service: Service | undefined,
  hashNamespace: string | undefined,
  aliasedHost?: string,
): DestinationTraits | undefined {
  const [only] = service?.ports ?? [];
  const session = service && sessionKeyOf(q, service);
  const picker = service && isInferencePool(service) ? endpointPickerOf(q, service) : undefined;
  const traits = {
    ...(aliasedHost === undefined ? {} : { aliasedHost }),
    ...(only !== undefined && service?.ports.length === 1 && only.number !== port ? { port: only.number } : {}),
    ...(session && { session }),
    ...(picker && { picker }),
    ...(hashNamespace === undefined ? {} : { hashNamespace }),
  };
  return Object.keys(traits).length === 0 ? undefined : { host, ...traits };
}

/** Returns the cluster name of a destination for requests that arrived at `listenerPort`. */
export function destinationCluster(
  destination: Destination,
  traits: DestinationTraits | undefined,
  listenerPort: number,
): string {
  const { host, subset } = destination;
  if (host === "") {
    return "UnknownService";
  }
  return outboundClusterName(traits?.aliasedHost ?? host, destinationPort(destination, traits, listenerPort), subset);
}

/** Returns the port of a destination: the one it names, else the service's only one, else the listener's. */
function destinationPort({ port }: Destination, traits: DestinationTraits | undefined, listenerPort: number): number {
  return port?.number ?? traits?.port ?? listenerPort;
}

/** Returns the consistent hash of a destination: that of the load balancer of its cluster. */
export function destinationHash(
  q: QueryContext,
  destination: Destination,
  { port: listenerPort, traitsOf }: DestinationContext,
): ConsistentHash | undefined {
  const traits = traitsOf(destination.host);
  if (traits?.hashNamespace === undefined) {
    return undefined;
  }
  return clusterHash(q, {
    host: traits.aliasedHost ?? destination.host,
    serviceNamespace: traits.hashNamespace,
    port: destinationPort(destination, traits, listenerPort),
    subset: destination.subset,
  });
}

/** Returns the consistent hash of a service's port without a VirtualService. */
export function serviceHash(
  q: QueryContext,
  host: string,
  serviceNamespace: string,
  port: number,
): ConsistentHash | undefined {
  return clusterHash(q, { host, serviceNamespace, port });
}

/** Returns the consistent hash of a cluster's load balancer. */
export function clusterHash(
  q: QueryContext,
  { host, serviceNamespace, port, subset = "" }: PolicyTarget,
): ConsistentHash | undefined {
  const rule = q.call(destinationRuleFor, { host, serviceNamespace })?.spec;
  if (rule === undefined) return undefined;
  const policy = subsetPolicy(rule.trafficPolicy, findSubset(rule, subset)?.trafficPolicy, port);
  return policy && hashOf(policy);
}

/** Reports whether the DestinationRule of a service has a consistent hash. */
export const hasConsistentHash = query(
  "destinationHashes",
  (q, of: { readonly host: string; readonly serviceNamespace: string }): boolean => {
    const rule = q.call(destinationRuleFor, of)?.spec;
    const policies = [rule?.trafficPolicy, ...(rule?.subsets.map((subset) => subset.trafficPolicy) ?? [])];
    return policies.some(
      (policy) =>
        policy !== undefined &&
        [policy, ...policy.portLevelSettings].some((settings) => hashOf(settings) !== undefined),
    );
  },
  { key: ({ host, serviceNamespace }) => `${serviceNamespace}/${host}` },
);

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
