import { type Query, query, type QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import {
  mergedGateway,
  outboundTraffic,
  isProxylessGrpc,
  proxyType,
  rawMetadata,
  type ScopedService,
  scopedService,
  scopeOf,
  scopeServices,
} from "@istiod/push-context";
import { type Failure, type Resource, ResourceSet } from "@istiod/resources";
import { keyOfId, splitKey } from "@istiod/service-discovery";
import { allOfService, attempt, type Attempted, attemptSet, resourcesOf, serviceObject } from "../attempt.js";
import { failedServiceResources } from "../failed-services.js";
import { opensTunnels, terminatesTunnels } from "../hbone.js";
import { clusterPatches } from "../patches/client-patches.js";
import { clustersAdded, patchClusters } from "../patches/patched-clusters.js";
import type { PatchedPart } from "../patches/patcher.js";
import {
  allowAnyDynamicDnsCluster,
  blackHoleCluster,
  connectOriginate,
  externalSdsCluster,
  inboundClusterName,
  inboundPassthroughCluster,
  mainInternal,
  passthroughCluster,
} from "../resource-names.js";
import { chunkKey, type ServiceChunk, serviceChunks } from "../service-chunks.js";
import { blackHole, externalSds, inboundPassthrough, passthrough } from "./builtin-clusters.js";
import { allowAnyCluster } from "./dynamic-forward-proxy.js";
import { connectOriginateCluster, mainInternalCluster } from "./hbone-clusters.js";
import { inboundClusterRefs } from "./inbound/inbound-cluster-refs.js";
import { inboundCluster, type InboundClusterRef } from "./inbound/inbound-cluster.js";
import { clustersOfService, outboundClustersOf, outboundContext } from "./outbound/service-clusters.js";

/**
 * All clusters of the client (CDS). Proxies other than Envoy have none, and proxyless gRPC applications request theirs
 * by name.
 * Source: pilot/pkg/networking/core/cluster.go, buildClusters.
 */
export const clusters = query("clusters", (q): ResourceSet => {
  const type = q.ask(proxyType);
  if (type === "ztunnel" || type === "agentgateway" || q.ask(isProxylessGrpc)) return ResourceSet.empty;
  const parts = q.call(unpatchedClusters).map((part) => patchClusters(q, part));
  return ResourceSet.union([...parts, q.call(failedServiceResources)]);
});

/** The clusters of the client as they are before patches, and those that patches add. */
export const unpatchedClusters = query("unpatchedClusters", (q): readonly PatchedPart[] => [
  { context: outboundContext(q), set: q.call(outboundClusters) },
  ...q.call(proxyClusters),
]);

/** The clusters of all services that the client knows: one part of the set, shared by its class of clients. */
const outboundClusters = query("outboundClusters", (q): ResourceSet =>
  ResourceSet.union(q.call(serviceChunks).map((chunk) => q.call(chunkClusters, chunk))),
);

const chunkClusters = query(
  "chunkClusters",
  (q, { services }: ServiceChunk): ResourceSet =>
    ResourceSet.union(services.map((scoped) => clustersOfService(q, scoped))),
  { key: chunkKey },
);

/** The clusters of one service with SNI-DNAT names, for gateways with AUTO_PASSTHROUGH servers. */
const sniDnatClusters = query("sniDnatClusters", (q, scoped: ScopedService): ResourceSet => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || service.meshExternal) return ResourceSet.empty;
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP").map(({ number }) => number);
  return outboundClustersOf(q, scoped, ports, true);
});

/** The clusters that do not belong to a service of the mesh, and the inbound clusters. */
const proxyClusters = query("proxyClusters", (q): readonly PatchedPart[] => {
  const external = q.ask(rawMetadata, "credential") === "true" ? [builtin(externalSdsCluster, externalSds)] : [];
  const type = q.ask(proxyType);
  const parts = type === "sidecar" ? sidecarClusters(q) : gatewayClusters(q);
  const tunnels = type !== "waypoint" && opensTunnels(q) ? [builtin(connectOriginate, connectOriginateCluster)] : [];
  return [...parts, { set: ownClusters(q, [...tunnels, ...external]) }];
});

/** A cluster that a client does not share with others. */
interface OwnCluster {
  readonly name: string;
  readonly objects: readonly string[];
  readonly build: (q: QueryContext) => Resource;
}

function ownClusters(q: QueryContext, clusters: readonly OwnCluster[]): ResourceSet {
  return resourcesOf(
    clusters,
    ({ build }) => build(q),
    ({ name, objects }) => ({ name, objects }),
  );
}

function builtin(name: string, cluster: Query<void, Resource>): OwnCluster {
  return { name, objects: [], build: (q) => q.call(cluster) };
}

function sidecarClusters(q: QueryContext): readonly PatchedPart[] {
  const isDynamic = q.call(outboundTraffic, scopeOf(q)).mode === "ALLOW_ANY_DYNAMIC_DNS";
  const failures: Failure[] = [];
  const inbound = attempt(() => q.call(inboundClusterRefs), failures, allInbound) ?? [];
  const outwards: readonly OwnCluster[] = [
    builtin(blackHoleCluster, blackHole),
    builtin(passthroughCluster, passthrough),
    ...(isDynamic ? [builtin(allowAnyDynamicDnsCluster, allowAnyCluster)] : []),
  ];
  const tunnels = terminatesTunnels(q) ? [builtin(mainInternal, mainInternalCluster)] : [];
  return [
    { context: Context.SIDECAR_OUTBOUND, set: ownClusters(q, outwards) },
    { set: clustersAdded(q, Context.SIDECAR_OUTBOUND) },
    ...inboundParts(q, inbound),
    { set: ownClusters(q, tunnels) },
    {
      context: Context.SIDECAR_INBOUND,
      set: ownClusters(q, [builtin(inboundPassthroughCluster, inboundPassthrough)]),
    },
    { set: clustersAdded(q, Context.SIDECAR_INBOUND) },
    { set: ResourceSet.of([], failures) },
  ];
}

/** Returns the inbound clusters, apart from each other if patches may distinguish them by their hosts. */
function inboundParts(q: QueryContext, refs: readonly InboundClusterRef[]): readonly PatchedPart[] {
  const context = Context.SIDECAR_INBOUND;
  const setOf = (some: readonly InboundClusterRef[]): ResourceSet =>
    ownClusters(
      q,
      some.map((ref) => inboundOf(q, ref)),
    );
  return q.call(clusterPatches, context) === undefined
    ? [{ context, set: setOf(refs) }]
    : refs.map((ref) => ({ context, hosts: hostsOf(ref), set: setOf([ref]) }));
}

function inboundOf(q: QueryContext, ref: InboundClusterRef): OwnCluster {
  return {
    name: inboundClusterName(ref.port),
    objects: ref.services.map(serviceObject),
    build: () => q.call(inboundCluster, ref),
  };
}

function hostsOf({ services }: InboundClusterRef): readonly string[] {
  return services.map((id) => splitKey(keyOfId(id))[1]);
}

const allInbound = (): Attempted => ({ name: "inbound|", match: "start", objects: [] });

function gatewayClusters(q: QueryContext): readonly PatchedPart[] {
  const context = Context.GATEWAY;
  const sniDnat =
    q.call(mergedGateway)?.autoPassthroughHosts === undefined
      ? []
      : q.call(scopeServices, scopeOf(q)).map((scoped) =>
          attemptSet(
            () => q.call(sniDnatClusters, scoped),
            () => allOfService("_.", scoped),
          ),
        );
  return [
    { context, set: ownClusters(q, [builtin(blackHoleCluster, blackHole)]) },
    { context, set: ResourceSet.union(sniDnat) },
    { set: clustersAdded(q, context) },
  ];
}
