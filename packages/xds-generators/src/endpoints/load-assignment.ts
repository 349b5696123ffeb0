import { create, toBinary } from "@bufbuild/protobuf";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { query, type QueryContext } from "@istiod/incremental";
import {
  destinationRuleFor,
  effectiveLocalitySetting,
  mesh,
  policyOfSubset,
  scopedService,
  scopeOf,
  serviceInScope,
  subsetNamed,
} from "@istiod/push-context";
import { resource, type Resource } from "@istiod/resources";
import { type Endpoint, endpoints, portNumbered } from "@istiod/service-discovery";
import { parseClusterName, selfDiscoveryCluster } from "../resource-names.js";
import { type EndpointTarget, isResolvedByProxy } from "./endpoint-target.js";
import { type LocalityGroup, localityLbEndpoints } from "./locality-group.js";
import { byPreference } from "./locality-preference.js";
import { ownWorkload } from "./own-workload.js";
import { reachableGroups } from "./reachable-groups.js";
import { hasUsableAddress } from "./visible-endpoints.js";

/** The endpoints of an EDS cluster, by its name, for the client; without any for a cluster of an unknown service or port. */
export const endpointsOf = query("endpointsOf", (q, clusterName: string): Resource => {
  const groups = clusterName === selfDiscoveryCluster ? ownWorkload(q) : groupsOf(q, clusterName);
  const message = create(ClusterLoadAssignmentSchema, { clusterName, endpoints: groups.map(localityLbEndpoints) });
  return resource(clusterName, toBinary(ClusterLoadAssignmentSchema, message));
});

function groupsOf(q: QueryContext, clusterName: string): readonly LocalityGroup[] {
  const target = targetOf(q, clusterName);
  return target === undefined || isResolvedByProxy(target.service) ? [] : sentEndpoints(q, target);
}

function targetOf(q: QueryContext, clusterName: string): EndpointTarget | undefined {
  const name = parseClusterName(clusterName);
  if (name === undefined) return undefined;
  const scoped = q.call(serviceInScope, { scope: scopeOf(q), hostname: name.hostname });
  const service = scoped && q.call(scopedService, scoped);
  const port = service && portNumbered(service, name.port);
  return port && { clusterName, service, port, subset: name.subset, sniDnat: name.sniDnat };
}

function sentEndpoints(q: QueryContext, target: EndpointTarget): readonly LocalityGroup[] {
  const { service, port, subset } = target;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace })?.spec;
  const all = q.call(endpoints, { service: service.key, port: port.name }).filter(hasUsableAddress).sort(byAddress);
  const groups = reachableGroups(q, target, rule, all, "resolved");
  const policy = policyOfSubset(rule?.trafficPolicy, subsetNamed(rule, subset)?.trafficPolicy, port.number);
  const setting = effectiveLocalitySetting(mesh(q), policy?.loadBalancer, service.trafficDistribution);
  return byPreference(q, groups, { setting, detectsOutliers: policy?.outlierDetection !== undefined, byLabels: true });
}

/** How a registry lists endpoints means nothing to a load balancer: in order of address, a list that is only shuffled is no change. */
function byAddress(a: Endpoint, b: Endpoint): number {
  const [addressA = "", addressB = ""] = [a.addresses[0], b.addresses[0]];
  return addressA < addressB ? -1 : addressA > addressB ? 1 : a.port - b.port;
}
