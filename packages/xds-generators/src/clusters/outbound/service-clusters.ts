import { query, type QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import {
  clientServices,
  destinationRuleFor,
  proxyType,
  type ScopedService,
  scopedService,
  servedSubsets,
} from "@istiod/push-context";
import { ResourceSet } from "@istiod/resources";
import { isInferencePool, isWildcardHost } from "@istiod/service-discovery";
import { allOfService, attemptSet, resourcesOf, serviceObject } from "../../attempt.js";
import { clustersAdded, patchClusters } from "../../patches/patched-clusters.js";
import { outboundClusterName, sniDnatClusterName } from "../../resource-names.js";
import { dynamicDnsCluster, resolvableProtocols } from "../dynamic-forward-proxy.js";
import { outboundCluster } from "./outbound-cluster.js";

/**
 * Reports whether the client is served the cluster of a host and port: it is among the clusters of a service that the
 * client knows, and no patch of an EnvoyFilter removes it, or one adds it.
 */
export const servesCluster = query(
  "servesCluster",
  (q, { hostname, port }: { readonly hostname: string; readonly port: number }): boolean => {
    const name = outboundClusterName(hostname, port);
    const context = outboundContext(q);
    return (
      q
        .call(clientServices)
        .some(
          (scoped) =>
            scoped.hostname === hostname && patchClusters(q, { context, set: clustersOfService(q, scoped) }).has(name),
        ) || clustersAdded(q, context).has(name)
    );
  },
  { key: ({ hostname, port }) => `${hostname} ${port}` },
);

/** Returns the context of patches for the client's outbound clusters. */
export function outboundContext(q: QueryContext): Context.GATEWAY | Context.SIDECAR_OUTBOUND {
  return q.ask(proxyType) === "router" ? Context.GATEWAY : Context.SIDECAR_OUTBOUND;
}

/** Returns the clusters of one service, or if they cannot be built, their failure. */
export function clustersOfService(q: QueryContext, scoped: ScopedService): ResourceSet {
  return attemptSet(
    () => q.call(serviceClusters, scoped),
    () => allOfService("|", scoped),
  );
}

/** The clusters of one service, for each port and subset that the client knows. Shared by its class of clients. */
const serviceClusters = query("serviceClusters", (q, scoped: ScopedService): ResourceSet => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || service.resolution === "Alias") return ResourceSet.empty;
  // All endpoints of an InferencePool are in the cluster of its first port.
  const ofService = isInferencePool(service) ? service.ports.slice(0, 1) : service.ports;
  const ports = ofService.filter(({ protocol }) => protocol !== "UDP");
  if (service.resolution === "DynamicDNS" && isWildcardHost(service.hostname)) {
    const resolvable = ports.filter(({ protocol }) => resolvableProtocols.includes(protocol));
    return resourcesOf(
      resolvable,
      ({ number }) => q.call(dynamicDnsCluster, { service: scoped, port: number }),
      ({ number }) => ({
        name: outboundClusterName(service.hostname, number),
        objects: [serviceObject(scoped.service)],
      }),
    );
  }
  return outboundClustersOf(
    q,
    scoped,
    ports.map(({ number }) => number),
    false,
  );
});

/** Returns the clusters of one service with its subsets at some of its ports. */
export function outboundClustersOf(
  q: QueryContext,
  scoped: ScopedService,
  ports: readonly number[],
  sniDnat: boolean,
): ResourceSet {
  const service = q.call(scopedService, scoped);
  if (service === undefined) return ResourceSet.empty;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  const { reasonWithoutClusters, served } = servedSubsets(
    q,
    { ports: ports.length, namespace: service.namespace },
    rule,
  );
  if (reasonWithoutClusters !== undefined) return ResourceSet.empty;
  const subsets = ["", ...served.map(({ name }) => name)];
  const clusterName = sniDnat ? sniDnatClusterName : outboundClusterName;
  return resourcesOf(
    ports.flatMap((port) => subsets.map((subset) => ({ service: scoped, port, subset, sniDnat }))),
    (ref) => q.call(outboundCluster, ref),
    ({ port, subset }) => ({
      name: clusterName(service.hostname, port, subset),
      objects: [serviceObject(scoped.service), ...(rule?.from ?? []).map((key) => `DestinationRule ${key}`)],
    }),
  );
}
