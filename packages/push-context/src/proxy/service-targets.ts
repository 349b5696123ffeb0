import { fact } from "@istiod/incremental";
import { type ProxyIdentity, serviceTargets as targetsOf, type ServiceTarget } from "@istiod/service-discovery";
import type { Proxy } from "./proxy.js";

/**
 * The services that the client's workload implements with their target ports: the oldest service first, then by
 * hostname.
 */
export const serviceTargets = fact("serviceTargets", (proxy: Proxy, _: undefined, q): readonly ServiceTarget[] =>
  q.call(targetsOf, identityOf(proxy)),
);

/** Returns the identity by which service discovery finds a proxy's workload. */
export function identityOf({ id, namespace, ipAddresses, metadata }: Proxy): ProxyIdentity {
  return {
    id,
    namespace,
    cluster: metadata.CLUSTER_ID ?? "",
    addresses: ipAddresses,
    labels: metadata.LABELS ?? {},
    podPorts: metadata.POD_PORTS ?? [],
    nodeName: metadata.NODE_NAME ?? "",
    isVm: (metadata.LABELS?.["istio.io/test-vm"] ?? "") !== "",
  };
}
