import { query } from "@istiod/incremental";
import { clustersOfService, kubernetesEndpoints } from "./kubernetes/endpoints.js";
import { kubernetesServiceName } from "./kubernetes/hostname.js";
import type { Endpoint } from "./model/endpoint.js";
import { serviceEntryEndpoints } from "./service-entry/endpoints.js";
import { splitKey } from "./services.js";

/**
 * All endpoints of a key (`namespace/hostname`), for all ports: of its ServiceEntries, then of its Kubernetes Services, cluster by cluster.
 * Everything that declares the key contributes, whichever of them owns it.
 */
export const allEndpoints = query("allEndpoints", (q, key: string): readonly Endpoint[] => {
  const [namespace, hostname] = splitKey(key);
  const ofEntries = q.call(serviceEntryEndpoints, key);
  const name = kubernetesServiceName(q, namespace, hostname);
  if (name === undefined) return ofEntries;
  const ofClusters = q.call(clustersOfService, { namespace, name }).map((cluster) => q.call(kubernetesEndpoints, { cluster, namespace, name }));
  return [...ofEntries, ...ofClusters.flat()];
});

/** The endpoints of one port of a service (`namespace/hostname`), found by the port's name: what EDS sends. */
export const endpoints = query(
  "endpoints",
  (q, at: { readonly service: string; readonly port: string }): readonly Endpoint[] =>
    q.call(allEndpoints, at.service).filter(({ portName }) => portName === at.port),
);

/**
 * The endpoints of one port of a service as clusters that are sent with their endpoints have them: those of a ServiceEntry are found by the
 * port's number, those of Kubernetes by its name. (Source: `CopyEndpoints` in `pilot/pkg/model/endpointshards.go`.)
 */
export const inlineEndpoints = query(
  "inlineEndpoints",
  (q, at: { readonly service: string; readonly port: { readonly name: string; readonly number: number } }): readonly Endpoint[] =>
    q
      .call(allEndpoints, at.service)
      .filter(({ portName, portNumber }) => (portNumber === 0 ? portName === at.port.name : portNumber === at.port.number)),
);
