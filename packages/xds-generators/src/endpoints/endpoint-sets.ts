import { Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { query, type QueryContext } from "@istiod/incremental";
import { LoadBalancerSettings_SimpleLB, type TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  askMetadata,
  clientServices,
  destinationRuleFor,
  mergedGateway,
  policyOfPort,
  policyOfSubset,
  proxyType,
  scopedService,
  type ScopedService,
  scopeOf,
  scopeServices,
} from "@istiod/push-context";
import { ResourceSet } from "@istiod/resources";
import { discoveryTypeOf } from "../clusters/discovery-type.js";
import { selfDiscoveryCluster } from "../resource-names.js";
import { type EdsCluster, endpointsOf, loadAssignment } from "./load-assignment.js";

/** The endpoints of all clusters of the client whose endpoints istiod sends apart (EDS). */
export const endpointAssignments = query("endpointAssignments", (q): ResourceSet => {
  const own = q.call(clientServices).map((service) => q.call(assignmentsOfService, { service, sniDnat: false }));
  const passedOn = passesTlsOn(q) ? q.call(scopeServices, scopeOf(q)).map((service) => q.call(assignmentsOfService, { service, sniDnat: true })) : [];
  const local = askMetadata(q, "ENABLE_SELF_DISCOVERY") === true ? [ResourceSet.of([q.call(endpointsOf, selfDiscoveryCluster)])] : [];
  return ResourceSet.union([...own, ...passedOn, ...local]);
});

const assignmentsOfService = query(
  "assignmentsOfService",
  (q, ref: { readonly service: ScopedService; readonly sniDnat: boolean }): ResourceSet =>
    ResourceSet.of(q.call(edsClusters, ref).map((cluster) => q.call(loadAssignment, cluster))),
);

/** The EDS clusters of a service. Where a policy passes connections through to where they were meant to go, there are no endpoints to send. */
const edsClusters = query(
  "edsClusters",
  (q, { service: scoped, sniDnat }: { readonly service: ScopedService; readonly sniDnat: boolean }): readonly EdsCluster[] => {
    const service = q.call(scopedService, scoped);
    if (service === undefined || service.resolution === "Alias" || service.resolution === "DynamicDNS") return [];
    if ((sniDnat && service.meshExternal) || discoveryTypeOf(q, service) !== Cluster_DiscoveryType.EDS) return [];
    const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace })?.spec;
    return service.ports.flatMap(({ number: port, protocol }) => {
      const ofService = policyOfPort(rule?.trafficPolicy, port);
      if (protocol === "UDP" || passesThrough(ofService)) return [];
      const subsets = (rule?.subsets ?? []).filter(
        ({ trafficPolicy }) => !passesThrough(trafficPolicy) && !passesThrough(policyOfSubset(ofService, trafficPolicy, port)),
      );
      return ["", ...subsets.map(({ name }) => name)].map((subset) => ({ service: scoped, port, subset, sniDnat }));
    });
  },
);

/** Whether the client is a gateway that passes TLS on without opening it. */
function passesTlsOn(q: QueryContext): boolean {
  return q.ask(proxyType) === "router" && q.call(mergedGateway)?.autoPassthroughHosts !== undefined;
}

function passesThrough(policy: TrafficPolicy | undefined): boolean {
  const chosen = policy?.loadBalancer?.lbPolicy;
  return chosen?.case === "simple" && chosen.value === LoadBalancerSettings_SimpleLB.PASSTHROUGH;
}
