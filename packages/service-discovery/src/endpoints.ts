import { query, type QueryContext } from "@istiod/incremental";
import { clustersOfService, selectedEntries, sliceEndpoints } from "./kubernetes/endpoints.js";
import { kubernetesHost } from "./kubernetes/hostname.js";
import type { Endpoint } from "./model/endpoint.js";
import { discoverability } from "./multi-cluster/exports.js";
import { isImported } from "./multi-cluster/imports.js";
import type { ServiceInCluster } from "./kubernetes/service.js";
import { serviceEntryEndpoints } from "./service-entry/endpoints.js";
import { splitKey } from "./services.js";
import { settings } from "./settings/environment.js";

/**
 * All endpoints of a key (`namespace/hostname`), for all ports: of its ServiceEntries, then of its Kubernetes Services,
 * cluster by cluster. Everything that declares the key contributes, whichever of them owns it.
 */
export const allEndpoints = query("allEndpoints", (q, key: string): readonly Endpoint[] => {
  const [namespace, hostname] = splitKey(key);
  const ofEntries = q.call(serviceEntryEndpoints, key);
  const host = kubernetesHost(q, namespace, hostname);
  if (host === undefined) return ofEntries;
  const { name, clusterSet } = host;
  const ofClusters = q
    .call(clustersOfService, { namespace, name })
    .map((cluster) => endpointsOfCluster(q, { cluster, namespace, name, clusterSet }));
  return [...ofEntries, ...ofClusters.flat()];
});

/**
 * What a cluster contributes. Of pods and of addresses in EndpointSlices, what it does not offer to others is for its
 * own clients; WorkloadEntries are for all.
 */
function endpointsOfCluster(
  q: QueryContext,
  at: ServiceInCluster & { readonly clusterSet: boolean },
): readonly Endpoint[] {
  const { cluster, namespace, name, clusterSet } = at;
  const ofSlices = q.call(sliceEndpoints, { cluster, namespace, name });
  const ofEntries =
    clusterSet && !q.call(isImported, { cluster, namespace, name })
      ? []
      : q.call(selectedEntries, { cluster, namespace, name });
  const offered = !settings.exportedOnly(q) || q.call(discoverability, at) === "everywhere";
  return [
    ...(offered ? ofSlices : ofSlices.map((endpoint) => ({ ...endpoint, forOwnCluster: true as const }))),
    ...ofEntries,
  ];
}

/** The endpoints of one port of a service (`namespace/hostname`), found by the port's name: what EDS sends. */
export const endpoints = query(
  "endpoints",
  (q, at: { readonly service: string; readonly port: string }): readonly Endpoint[] =>
    q.call(allEndpoints, at.service).filter(({ portName }) => portName === at.port),
);

/**
 * The endpoints of one port of a service as clusters that are sent with their endpoints have them: those of a
 * ServiceEntry are found by the port's number, those of Kubernetes by its name. (Source: `CopyEndpoints` in
 * `pilot/pkg/model/endpointshards.go`.)
 */
export const inlineEndpoints = query(
  "inlineEndpoints",
  (
    q,
    at: { readonly service: string; readonly port: { readonly name: string; readonly number: number } },
  ): readonly Endpoint[] =>
    q
      .call(allEndpoints, at.service)
      .filter(({ portName, portNumber }) =>
        portNumber === 0 ? portName === at.port.name : portNumber === at.port.number,
      ),
);
