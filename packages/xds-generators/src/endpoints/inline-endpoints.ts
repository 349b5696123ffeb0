import type { LocalityLbEndpoints } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint_components";
import { query } from "@istiod/incremental";
import {
  destinationRuleFor,
  effectiveLocalitySetting,
  mesh,
  policyOfPort,
  policyOfSubset,
  scopedService,
  type ScopedService,
  subsetNamed,
  withMeshDefaults,
} from "@istiod/push-context";
import { inlineEndpoints, portNumbered } from "@istiod/service-discovery";
import { isResolvedByProxy } from "./endpoint-target.js";
import { localityLbEndpoints } from "./locality-group.js";
import { byPreference } from "./locality-preference.js";
import { reachableGroups } from "./reachable-groups.js";

/** A cluster that is sent with its endpoints, since the proxy resolves their names. */
export interface InlineEndpointsRef {
  readonly service: ScopedService;
  readonly port: number;
  /** Empty: the service itself. */
  readonly subset: string;
  readonly clusterName: string;
  /** A cluster of an AUTO_PASSTHROUGH gateway. */
  readonly sniDnat: boolean;
}

/** The endpoints of such a cluster by locality, with the weights and priorities that the client's locality gives them under the cluster's policy. */
export const inlineEndpointsOf = query("inlineEndpointsOf", (q, ref: InlineEndpointsRef): readonly LocalityLbEndpoints[] => {
  const service = q.call(scopedService, ref.service);
  const port = service && portNumbered(service, ref.port);
  if (service === undefined || port === undefined) return [];
  const { clusterName, subset, sniDnat } = ref;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace })?.spec;
  const all = q.call(inlineEndpoints, { service: service.key, port: { name: port.name, number: port.number } });
  const form = isResolvedByProxy(service) ? "stated" : "resolved";
  const groups = reachableGroups(q, { clusterName, service, port, subset, sniDnat }, rule, all, form);
  const ofService = withMeshDefaults(mesh(q).defaultTrafficPolicy, policyOfPort(rule?.trafficPolicy, port.number));
  const policy = subset === "" ? ofService : policyOfSubset(ofService, subsetNamed(rule, subset)?.trafficPolicy, port.number);
  return byPreference(q, groups, {
    setting: effectiveLocalitySetting(mesh(q), policy?.loadBalancer, service.trafficDistribution),
    detectsOutliers: policy?.outlierDetection !== undefined,
    // Labels set priorities in a service's own cluster only, not in those of its subsets (as in the original).
    byLabels: subset === "" && !sniDnat,
  }).map(localityLbEndpoints);
});
