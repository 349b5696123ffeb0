import { Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { query, type QueryContext } from "@istiod/incremental";
import type { TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  askMetadata,
  destinationRuleFor,
  isProxylessGrpc,
  mergedGateway,
  portPolicy,
  subsetPolicy,
  proxyType,
  type ScopedService,
  scopedService,
  scopeOf,
  scopeServices,
  servedSubsets,
} from "@istiod/push-context";
import { ResourceSet } from "@istiod/resources";
import { isWildcardHost, type Service } from "@istiod/service-discovery";
import { allOfService, attemptSet, resourcesOf, serviceObject } from "../attempt.js";
import { discoveryTypeOf, discoveryTypeOfSubset, discoveryTypeWithPolicy } from "../clusters/discovery-type.js";
import { failedServiceResources } from "../failed-services.js";
import { selfDiscoveryCluster } from "../resource-names.js";
import { chunkKey, type ServiceChunk, serviceChunks } from "../service-chunks.js";
import { clusterNameOf, type EdsCluster, loadAssignment, loadAssignmentByName } from "./load-assignment.js";

const EDS = Cluster_DiscoveryType.EDS;

/** The load assignments of all EDS clusters of the client (EDS). Proxyless gRPC applications request theirs by name. */
export const endpointAssignments = query("endpointAssignments", (q): ResourceSet => {
  if (q.ask(isProxylessGrpc)) return ResourceSet.empty;
  const outbound = q.call(serviceChunks).map((chunk) => q.call(outboundAssignments, chunk));
  const passthrough = hasAutoPassthrough(q)
    ? q.call(scopeServices, scopeOf(q)).map((service) => attemptAssignments(q, { service, sniDnat: true }))
    : [];
  const local =
    askMetadata(q, "ENABLE_SELF_DISCOVERY") === true
      ? [
          resourcesOf(
            [selfDiscoveryCluster],
            (name) => q.call(loadAssignmentByName, name),
            (name) => ({ name, objects: [] }),
          ),
        ]
      : [];
  return ResourceSet.union([...outbound, ...passthrough, ...local, q.call(failedServiceResources)]);
});

const outboundAssignments = query(
  "outboundAssignments",
  (q, { services }: ServiceChunk): ResourceSet =>
    ResourceSet.union(services.map((service) => attemptAssignments(q, { service, sniDnat: false }))),
  { key: chunkKey },
);

interface AssignmentsRef {
  readonly service: ScopedService;
  readonly sniDnat: boolean;
}

function attemptAssignments(q: QueryContext, ref: AssignmentsRef): ResourceSet {
  return attemptSet(
    () => q.call(assignmentsOfService, ref),
    () => allOfService(ref.sniDnat ? "_." : "|", ref.service),
  );
}

const assignmentsOfService = query("assignmentsOfService", (q, ref: AssignmentsRef): ResourceSet =>
  resourcesOf(
    q.call(edsClusters, ref),
    (cluster) => q.call(loadAssignment, cluster),
    (cluster) => ({ name: clusterNameOf(cluster), objects: [serviceObject(ref.service.service)] }),
  ),
);

/** The EDS clusters of a service. Clusters with a PASSTHROUGH load balancer have no endpoints. */
const edsClusters = query("edsClusters", (q, { service: scoped, sniDnat }: AssignmentsRef): readonly EdsCluster[] => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || discoveryTypeOf(q, service) !== EDS) return [];
  if (sniDnat ? service.meshExternal : hasNoEdsCluster(service)) return [];
  const consolidated = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP").length;
  const { reasonWithoutClusters, served } = servedSubsets(q, { ports, namespace: service.namespace }, consolidated);
  if (reasonWithoutClusters !== undefined) return [];
  const rule = consolidated?.spec;
  return service.ports.flatMap(({ number: port, protocol }) => {
    const ofService = portPolicy(rule?.trafficPolicy, port);
    const isEds = (type: Cluster_DiscoveryType, policy: TrafficPolicy | undefined): boolean =>
      discoveryTypeWithPolicy(q, type, policy, protocol) === EDS;
    if (protocol === "UDP" || !isEds(EDS, ofService)) return [];
    const subsets = served.filter((subset) =>
      isEds(discoveryTypeOfSubset(EDS, subset), subsetPolicy(ofService, subset.trafficPolicy, port)),
    );
    return ["", ...subsets.map(({ name }) => name)].map((subset) => ({ service: scoped, port, subset, sniDnat }));
  });
});

/**
 * Reports whether a service has no EDS cluster: aliases have no cluster, and wildcards with DYNAMIC_DNS have a dynamic
 * forward proxy. Does not apply to SNI-DNAT clusters.
 */
function hasNoEdsCluster({ resolution, hostname }: Service): boolean {
  return resolution === "Alias" || (resolution === "DynamicDNS" && isWildcardHost(hostname));
}

/** Reports whether the client is a gateway with AUTO_PASSTHROUGH servers. */
function hasAutoPassthrough(q: QueryContext): boolean {
  return q.ask(proxyType) === "router" && q.call(mergedGateway)?.autoPassthroughHosts !== undefined;
}
