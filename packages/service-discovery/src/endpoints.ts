import { query, type QueryContext } from "@istiod/incremental";
import { selectedWorkloadEntries } from "./kubernetes/selected-workload-entries.js";
import { clustersOfService, sliceEndpoints } from "./kubernetes/slice-endpoints.js";
import { parseKubernetesHostname } from "./kubernetes/hostname.js";
import type { Endpoint } from "./model/endpoint.js";
import { type EndpointSource, endpointSourceKey } from "./model/service.js";
import { discoverability } from "./multi-cluster/exports.js";
import { isImported } from "./multi-cluster/imports.js";
import type { ServiceInCluster } from "./kubernetes/kubernetes-service.js";
import { serviceEntryEndpoints } from "./service-entry/entry-endpoints.js";
import { splitKey } from "./services.js";
import { settings } from "./settings/features.js";

/**
 * All endpoints of a service key (`namespace/hostname`), for all ports: of its ServiceEntries, then of its Kubernetes
 * Services by cluster. All declarations of the key contribute, not only its owner, except hidden ones.
 */
export const allEndpoints = query(
  "allEndpoints",
  (q, source: EndpointSource): readonly Endpoint[] => {
    const [namespace, hostname] = splitKey(source.service);
    const entryEndpoints = q.call(serviceEntryEndpoints, source);
    const host = parseKubernetesHostname(q, namespace, hostname);
    if (host === undefined || source.hidden?.includes("") === true) return entryEndpoints;
    const { name, clusterSet } = host;
    const clusterEndpoints = q
      .call(clustersOfService, { namespace, name })
      .map((cluster) => endpointsOfCluster(q, { cluster, namespace, name, clusterSet }));
    return [...entryEndpoints, ...clusterEndpoints.flat()];
  },
  { key: endpointSourceKey },
);

/**
 * Returns the endpoints of a Kubernetes Service in one cluster. Endpoints from EndpointSlices that the cluster does not
 * export are limited to clients of the same cluster; those from WorkloadEntries are not.
 */
function endpointsOfCluster(
  q: QueryContext,
  at: ServiceInCluster & { readonly clusterSet: boolean },
): readonly Endpoint[] {
  const { cluster, namespace, name, clusterSet } = at;
  const fromSlices = q.call(sliceEndpoints, { cluster, namespace, name });
  const entryEndpoints =
    clusterSet && !q.call(isImported, { cluster, namespace, name })
      ? []
      : q.call(selectedWorkloadEntries, { cluster, namespace, name });
  const exported = !settings.exportedOnly(q) || q.call(discoverability, at) === "everywhere";
  return [
    ...(exported ? fromSlices : fromSlices.map((endpoint) => ({ ...endpoint, sameClusterOnly: true as const }))),
    ...entryEndpoints,
  ];
}

interface PortRef {
  readonly name: string;
  readonly number: number;
}

/** The endpoints of a service port (`namespace/hostname`), found by port name, as in EDS. */
export const endpoints = query(
  "endpoints",
  (q, { port, ...source }: EndpointSource & { readonly port: string }): readonly Endpoint[] =>
    q.call(allEndpoints, source).filter(({ portName }) => portName === port),
);

/**
 * The endpoints of a service port for clusters with inline endpoints: endpoints of ServiceEntries are found by port
 * number, those of Kubernetes Services by port name. (Source: `CopyEndpoints` in `pilot/pkg/model/endpointshards.go`.)
 */
export const inlineEndpoints = query(
  "inlineEndpoints",
  (q, { port, ...source }: EndpointSource & { readonly port: PortRef }): readonly Endpoint[] =>
    q
      .call(allEndpoints, source)
      .filter(({ portName, portNumber }) => (portNumber === 0 ? portName === port.name : portNumber === port.number)),
);
