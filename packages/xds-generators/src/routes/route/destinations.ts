import { query, type QueryContext } from "@istiod/incremental";
import type {
  LoadBalancerSettings_ConsistentHashLB as ConsistentHash,
  TrafficPolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { Destination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { destinationRuleFor, type RouteSemantics, subsetNamed } from "@istiod/push-context";
import type { Service } from "@istiod/service-discovery";
import { outboundClusterName } from "../../resource-names.js";
import { type SessionKey, sessionKeyOf } from "./stateful-session.js";

/**
 * What of a destination's service changes the routes to it. Nearly always nothing does, and then it is left out: so the routes of a
 * VirtualService are the same for every scope, and are made once.
 */
export interface DestinationTraits {
  readonly host: string;
  /** The host that an ExternalName service leads to. */
  readonly externalName?: string;
  /** The service's only port, where that is not the one that the request came to. */
  readonly port?: number;
  readonly session?: SessionKey;
  /** The namespace of the service, where a DestinationRule hashes requests to it. */
  readonly hashNamespace?: string;
}

/**
 * The traits of a destination; undefined where it has none that matter. `service` is what its host stands for in the routes' context;
 * `hashNamespace` is the namespace of what it stands for in the client's scope, where requests to it are hashed.
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

/** The cluster that a destination means, of a request that came to `listenerPort`. */
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

/** How requests to a destination are hashed: as its subset's port says, else its subset, else its port, else its rule. */
export function destinationHash(
  q: QueryContext,
  { host, port, subset }: Destination,
  traits: DestinationTraits | undefined,
): ConsistentHash | undefined {
  if (traits?.hashNamespace === undefined) {
    return undefined;
  }
  const rule = q.call(destinationRuleFor, { host, serviceNamespace: traits.hashNamespace })?.spec;
  const ofSubset = subsetNamed(rule, subset)?.trafficPolicy;
  return (
    portHash(ofSubset, port?.number) ??
    policyHash(ofSubset) ??
    portHash(rule?.trafficPolicy, port?.number) ??
    policyHash(rule?.trafficPolicy)
  );
}

/** How requests to a port of a service are hashed, where no VirtualService routes them. */
export function serviceHash(
  q: QueryContext,
  host: string,
  serviceNamespace: string,
  port: number,
): ConsistentHash | undefined {
  const policy = q.call(destinationRuleFor, { host, serviceNamespace })?.spec.trafficPolicy;
  return portHash(policy, port) ?? policyHash(policy);
}

/** Whether the rule for a service hashes any requests. */
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
/** What the destinations of a route are looked at with. */

export interface DestinationContext {
  readonly semantics: RouteSemantics;
  /** The port that requests came to. */
  readonly port: number;
  traitsOf(host: string): DestinationTraits | undefined;
}
export function clusterNameOf(destination: Destination | undefined, { port, traitsOf }: DestinationContext): string {
  return destination === undefined
    ? "UnknownService"
    : destinationCluster(destination, traitsOf(destination.host), port);
}
