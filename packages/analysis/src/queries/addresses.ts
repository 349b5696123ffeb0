import { services } from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import { canonicalAddress } from "@istiod/service-discovery";

/** Services by their cluster addresses. */
export const servicesByAddress = index(services, "byClusterAddress", ({ spec }) =>
  [...new Set([spec.clusterIP, ...spec.clusterIPs])].filter((ip) => ip !== "" && ip !== "None").map(canonicalAddress),
);

/** Returns the name of the Service with a cluster address, `namespace/name`; undefined if there is none. */
export function serviceWithAddress(q: QueryContext, address: string): string | undefined {
  const [found] = q.read(servicesByAddress, canonicalAddress(address));
  return found && `${found.namespace}/${found.name}`;
}
