import { query } from "@istiod/incremental";
import { allEndpoints, type Endpoint, keyOfId, networkGateways, service, serviceOrder, type Service } from "@istiod/service-discovery";

/** Every service, in the order in which they count. */
export const registry = query("debug.registry", (q): readonly Service[] => q.call(serviceOrder).flatMap((id) => q.call(service, id) ?? []));

/** The endpoints of every service by the cluster that they are in: host name, namespace, cluster. */
export const endpointShards = query("debug.endpointShards", (q): Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, readonly Endpoint[]>>>>>> => {
  const shards: Record<string, Record<string, Record<string, Endpoint[]>>> = {};
  for (const key of new Set(q.call(serviceOrder).map(keyOfId))) {
    const [namespace = "", hostname = ""] = key.split("/");
    const byCluster = ((shards[hostname] ??= {})[namespace] ??= {});
    for (const endpoint of q.call(allEndpoints, key)) (byCluster[endpoint.cluster] ??= []).push(endpoint);
  }
  return shards;
});

export const crossNetworkGateways = query("debug.networkGateways", (q) => q.call(networkGateways));
