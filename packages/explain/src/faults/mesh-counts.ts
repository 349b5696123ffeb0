import { virtualServices } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { hostsWithDuplicateSubsets } from "@istiod/push-context";
import { allEndpoints, endpointsWithoutPods, keyOfId, serviceOrder } from "@istiod/service-discovery";

/** Counts of a mesh that do not depend on the connected proxies. */
export interface MeshCounts {
  readonly services: number;
  readonly virtualServices: number;
  /** Hosts for which DestinationRules of one namespace have duplicate subsets. */
  readonly duplicateSubsets: readonly string[];
  /** Addresses of endpoints that are not ready. */
  readonly notReady: readonly string[];
  /** Addresses of endpoints whose pod is not known, with their services. */
  readonly withoutPod: readonly { readonly address: string; readonly service: string }[];
}

export const meshCounts = query("metrics.mesh", (q): MeshCounts => {
  const order = q.call(serviceOrder);
  const notReady = new Set<string>();
  for (const key of new Set(order.map(keyOfId))) {
    for (const { health, addresses } of q.call(allEndpoints, { service: key }))
      if (health === "Unhealthy") addresses.forEach((address) => notReady.add(address));
  }
  return {
    services: order.length,
    virtualServices: q.keys(virtualServices).length,
    duplicateSubsets: q.call(hostsWithDuplicateSubsets),
    notReady: [...notReady].sort(),
    withoutPod: q.call(endpointsWithoutPods),
  };
});
