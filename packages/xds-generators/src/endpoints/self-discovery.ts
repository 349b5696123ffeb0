import type { QueryContext } from "@istiod/incremental";
import {
  askMetadata,
  label,
  locality,
  scopedService,
  scopeOf,
  serviceInScope,
  serviceTargets,
} from "@istiod/push-context";
import { type Endpoint, endpoints, keyOfId, portNumbered, splitKey, splitLocality } from "@istiod/service-discovery";
import type { LocalityGroup } from "./locality/locality-group.js";
import { reachableGroups } from "./reachability/reachable-groups.js";
import { hasUsableAddress } from "./reachability/visible-endpoints.js";

/** Labels that instances of one ReplicaSet share. Zone-aware routing assumes that such instances receive equal load. */
const revisionLabels = ["pod-template-hash", "rollouts-pod-template-hash"] as const;

/**
 * Returns the instances of the client's own workload in its region, from which Envoy's zone-aware routing computes the
 * number in each zone. Based on the client's first service, without DestinationRules. Source: `isSelfDiscoveryCluster`
 * in pilot/pkg/xds/endpoints.
 */
export function ownWorkloadEndpoints(q: QueryContext): readonly LocalityGroup[] {
  const [first] = q.ask(serviceTargets, undefined);
  if (first === undefined) return [];
  const [, hostname] = splitKey(keyOfId(first.service));
  const scoped = q.call(serviceInScope, { scope: scopeOf(q), hostname });
  const service = scoped && q.call(scopedService, scoped);
  const port = service && portNumbered(service, first.port.number);
  if (service === undefined || port === undefined) return [];
  const workloadName = askMetadata(q, "WORKLOAD_NAME") ?? "";
  const { region } = q.ask(locality);
  const isOwn = (endpoint: Endpoint): boolean =>
    endpoint.workloadName === workloadName &&
    splitLocality(endpoint.locality)[0] === region &&
    revisionLabels.every((name) => endpoint.labels[name] === q.ask(label, name));
  const own = q
    .call(endpoints, { service: service.key, port: port.name })
    .filter((endpoint) => hasUsableAddress(endpoint) && isOwn(endpoint));
  return reachableGroups(q, { service, port, subset: "", sniDnat: false }, undefined, own, "resolved");
}
