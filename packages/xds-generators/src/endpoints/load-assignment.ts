import { query, type QueryContext } from "@istiod/incremental";
import {
  destinationRuleFor,
  effectiveLocalitySetting,
  mesh,
  subsetPolicy,
  type ScopedService,
  scopedService,
  scopeOf,
  scopeServiceIndex,
  serviceInScope,
  findSubset,
} from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import {
  allEndpoints,
  type Endpoint,
  endpoints,
  endpointSource,
  isInferencePool,
  portNumbered,
} from "@istiod/service-discovery";
import { outboundClusterName, parseClusterName, selfDiscoveryCluster, sniDnatClusterName } from "../resource-names.js";
import { type EncodedMember, encodeLoadAssignment, encodeMembers, withGatewayWeight } from "./encode-assignment.js";
import { isResolvedByProxy } from "./endpoint-target.js";
import type { LocalityGroup } from "./locality/locality-group.js";
import { applyLocalityPreference, type LocalityPreference } from "./locality/locality-preference.js";
import { mergeGateways } from "./locality/merge-gateways.js";
import { reachableGroups } from "./reachability/reachable-groups.js";
import { hasUsableAddress } from "./reachability/visible-endpoints.js";
import { ownWorkloadEndpoints } from "./self-discovery.js";

/** The load assignment of an EDS cluster by cluster name; empty for an unknown service or port. */
export const loadAssignmentByName = query("loadAssignmentByName", (q, clusterName: string): Resource => {
  if (clusterName === selfDiscoveryCluster)
    return assignmentResource(clusterName, ownWorkloadEndpoints(q).map(encodeMembers));
  const name = parseClusterName(clusterName);
  const service = name && q.call(serviceInScope, { scope: scopeOf(q), hostname: name.hostname });
  if (name === undefined || service === undefined) return assignmentResource(clusterName, []);
  const cluster = { service, port: name.port, subset: name.subset, sniDnat: name.sniDnat };
  return clusterName === clusterNameOf(cluster)
    ? q.call(loadAssignment, cluster)
    : buildAssignment(q, clusterName, cluster);
});

/** The services that names of EDS clusters can refer to, by hostname. */
export const endpointServices = query("endpointServices", (q): Readonly<Record<string, ScopedService>> =>
  q.call(scopeServiceIndex, scopeOf(q)),
);

/**
 * Returns the empty load assignment of a cluster name that refers to none of the services, as `loadAssignmentByName`
 * does, but without a memo for each unknown name; undefined for other names.
 */
export function unknownLoadAssignment(
  services: Readonly<Record<string, ScopedService>>,
  clusterName: string,
): Resource | undefined {
  if (clusterName === selfDiscoveryCluster) return undefined;
  const hostname = parseClusterName(clusterName)?.hostname;
  const isKnown = hostname !== undefined && Object.hasOwn(services, hostname);
  return isKnown ? undefined : assignmentResource(clusterName, []);
}

/** The EDS cluster of a port of a service, as imported by a client's scope. */
export interface EdsCluster {
  readonly service: ScopedService;
  readonly port: number;
  /** Empty: all endpoints of the service. */
  readonly subset: string;
  readonly sniDnat: boolean;
}

/** The load assignment of an EDS cluster, shared by all clients with the same locality preference. */
export const loadAssignment = query("loadAssignment", (q, cluster: EdsCluster): Resource =>
  buildAssignment(q, clusterNameOf(cluster), cluster),
);

function buildAssignment(q: QueryContext, name: string, cluster: EdsCluster): Resource {
  return assignmentResource(name, groupsOf(q, cluster));
}

function groupsOf(q: QueryContext, cluster: EdsCluster): readonly LocalityGroup<EncodedMember>[] {
  const { preference, groups } = q.call(reachableEndpoints, cluster);
  return mergeGateways(applyLocalityPreference(q, groups, preference), withGatewayWeight);
}

/** Returns the endpoints of an outbound cluster by name; none for an unknown service or port. */
export function assignedGroups(q: QueryContext, clusterName: string): readonly LocalityGroup<EncodedMember>[] {
  const name = parseClusterName(clusterName);
  const service = name && q.call(serviceInScope, { scope: scopeOf(q), hostname: name.hostname });
  if (name === undefined || service === undefined) return [];
  return groupsOf(q, { service, port: name.port, subset: name.subset, sniDnat: false });
}

function assignmentResource(name: string, groups: readonly LocalityGroup<EncodedMember>[]): Resource {
  return resource(name, encodeLoadAssignment(name, groups));
}

/** Returns the name of an EDS cluster. */
export function clusterNameOf({ service, port, subset, sniDnat }: EdsCluster): string {
  return (sniDnat ? sniDnatClusterName : outboundClusterName)(service.hostname, port, subset);
}

/** The endpoints that a client can reach, and its locality preference. Shared by clients in all localities. */
const reachableEndpoints = query("reachableEndpoints", (q, cluster: EdsCluster): ReachableEndpoints => {
  const service = q.call(scopedService, cluster.service);
  const port = service && portNumbered(service, cluster.port);
  if (service === undefined || port === undefined || isResolvedByProxy(service)) return none;
  const { subset, sniDnat } = cluster;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace })?.spec;
  const ofPort = isInferencePool(service)
    ? q.call(allEndpoints, endpointSource(service))
    : q.call(endpoints, { ...endpointSource(service), port: port.name });
  const all = ofPort.filter(hasUsableAddress).sort(byAddress);
  const groups = reachableGroups(q, { service, port, subset, sniDnat }, rule, all, "resolved");
  const policy = subsetPolicy(rule?.trafficPolicy, findSubset(rule, subset)?.trafficPolicy, port.number);
  const setting = effectiveLocalitySetting(mesh(q), policy?.loadBalancer, service.trafficDistribution);
  return {
    preference: { setting, detectsOutliers: policy?.outlierDetection !== undefined, usesLabels: true },
    groups: groups.map(encodeMembers),
  };
});

interface ReachableEndpoints {
  readonly preference: LocalityPreference;
  readonly groups: readonly LocalityGroup<EncodedMember>[];
}

const none: ReachableEndpoints = {
  preference: { setting: undefined, detectsOutliers: false, usesLabels: false },
  groups: [],
};

/** Orders endpoints by address, so that a registry that lists them in another order causes no change. */
function byAddress(a: Endpoint, b: Endpoint): number {
  const [addressA = "", addressB = ""] = [a.addresses[0], b.addresses[0]];
  return addressA < addressB ? -1 : addressA > addressB ? 1 : a.port - b.port;
}
