import { type Query, query, type QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import {
  destinationRuleFor,
  mergedGateway,
  outboundTraffic,
  isProxylessGrpc,
  proxyType,
  rawMetadata,
  type ScopedService,
  scopedService,
  scopeOf,
  scopeServices,
  servedSubsets,
} from "@istiod/push-context";
import { type Failure, type Resource, ResourceSet } from "@istiod/resources";
import { isWildcardHost, keyOfId, splitKey } from "@istiod/service-discovery";
import { allOfService, attempt, type Attempted, attemptSet, resourcesOf, serviceObject } from "../attempt.js";
import { failedServiceResources } from "../failed-services.js";
import { opensTunnels, terminatesTunnels } from "../hbone.js";
import { clusterPatcher, clustersAdded, patchClusters } from "../patches/patched-clusters.js";
import {
  allowAnyDynamicDnsCluster,
  blackHoleCluster,
  connectOriginate,
  externalSdsCluster,
  inboundClusterName,
  inboundPassthroughCluster,
  mainInternal,
  outboundClusterName,
  passthroughCluster,
  sniDnatClusterName,
} from "../resource-names.js";
import { chunkKey, type ServiceChunk, serviceChunks } from "../service-chunks.js";
import { blackHole, externalSds, inboundPassthrough, passthrough } from "./builtin-clusters.js";
import { allowAnyCluster, dynamicDnsCluster, resolvableProtocols } from "./dynamic-forward-proxy.js";
import { connectOriginateCluster, mainInternalCluster } from "./hbone-clusters.js";
import { inboundClusterRefs } from "./inbound/inbound-cluster-refs.js";
import { inboundCluster, type InboundClusterRef } from "./inbound/inbound-cluster.js";
import { outboundCluster } from "./outbound/outbound-cluster.js";

/**
 * All clusters of the client (CDS). Proxies other than Envoy have none, and proxyless gRPC applications request theirs
 * by name.
 * Source: pilot/pkg/networking/core/cluster.go, buildClusters.
 */
export const clusters = query("clusters", (q): ResourceSet => {
  const type = q.ask(proxyType);
  if (type === "ztunnel" || type === "agentgateway" || q.ask(isProxylessGrpc)) return ResourceSet.empty;
  const outbound = patchClusters(q, outboundContext(q), q.call(outboundClusters));
  return ResourceSet.union([outbound, q.call(proxyClusters), q.call(failedServiceResources)]);
});

function outboundContext(q: QueryContext): Context {
  return q.ask(proxyType) === "router" ? Context.GATEWAY : Context.SIDECAR_OUTBOUND;
}

/** The clusters of all services that the client knows: one part of the set, shared by its class of clients. */
const outboundClusters = query("outboundClusters", (q): ResourceSet =>
  ResourceSet.union(q.call(serviceChunks).map((chunk) => q.call(chunkClusters, chunk))),
);

const chunkClusters = query(
  "chunkClusters",
  (q, { services }: ServiceChunk): ResourceSet =>
    ResourceSet.union(
      services.map((scoped) =>
        attemptSet(
          () => q.call(serviceClusters, scoped),
          () => allOfService("|", scoped),
        ),
      ),
    ),
  { key: chunkKey },
);

/** The clusters of one service, for each port and subset that the client knows. Shared by its class of clients. */
const serviceClusters = query("serviceClusters", (q, scoped: ScopedService): ResourceSet => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || service.resolution === "Alias") return ResourceSet.empty;
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP");
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

/** The clusters of one service with SNI-DNAT names, for gateways with AUTO_PASSTHROUGH servers. */
const sniDnatClusters = query("sniDnatClusters", (q, scoped: ScopedService): ResourceSet => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || service.meshExternal) return ResourceSet.empty;
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP").map(({ number }) => number);
  return outboundClustersOf(q, scoped, ports, true);
});

/** The clusters that do not belong to a service of the mesh, and the inbound clusters. */
const proxyClusters = query("proxyClusters", (q): ResourceSet => {
  const external = q.ask(rawMetadata, "credential") === "true" ? [builtin(externalSdsCluster, externalSds)] : [];
  const type = q.ask(proxyType);
  const parts = type === "sidecar" ? sidecarClusters(q) : gatewayClusters(q);
  const tunnels = type !== "waypoint" && opensTunnels(q) ? [builtin(connectOriginate, connectOriginateCluster)] : [];
  return ResourceSet.union([...parts, ownClusters(q, [...tunnels, ...external])]);
});

/** A cluster that a client does not share with others. */
interface OwnCluster {
  readonly name: string;
  readonly objects: readonly string[];
  readonly build: (q: QueryContext) => Resource | undefined;
}

function ownClusters(q: QueryContext, clusters: readonly OwnCluster[]): ResourceSet {
  return resourcesOf(
    clusters,
    ({ build }) => build(q),
    ({ name, objects }) => ({ name, objects }),
  );
}

/** Returns a cluster with the client's patches in a context. */
function patched(context: Context, cluster: OwnCluster, hosts: readonly string[] = []): OwnCluster {
  return {
    ...cluster,
    build: (q) => {
      const built = cluster.build(q);
      const patcher = clusterPatcher(q, context, hosts);
      return built === undefined || patcher === undefined ? built : patcher.patched(built).resource;
    },
  };
}

/** Returns the clusters that patches add. */
function addedClusters(q: QueryContext, context: Context): readonly OwnCluster[] {
  return clustersAdded(q, context).map((added) => ({ name: added.name, objects: [], build: () => added }));
}

function builtin(name: string, cluster: Query<void, Resource>): OwnCluster {
  return { name, objects: [], build: (q) => q.call(cluster) };
}

function sidecarClusters(q: QueryContext): ResourceSet[] {
  const isDynamic = q.call(outboundTraffic, scopeOf(q)).mode === "ALLOW_ANY_DYNAMIC_DNS";
  const failures: Failure[] = [];
  const inbound = attempt(() => q.call(inboundClusterRefs), failures, allInbound) ?? [];
  const [outwards, inwards] = [Context.SIDECAR_OUTBOUND, Context.SIDECAR_INBOUND];
  const own: readonly OwnCluster[] = [
    patched(outwards, builtin(blackHoleCluster, blackHole)),
    patched(outwards, builtin(passthroughCluster, passthrough)),
    ...(isDynamic ? [patched(outwards, builtin(allowAnyDynamicDnsCluster, allowAnyCluster))] : []),
    ...addedClusters(q, outwards),
    ...inbound.map((ref) => patched(inwards, inboundOf(q, ref), hostsOf(ref))),
    ...(terminatesTunnels(q) ? [builtin(mainInternal, mainInternalCluster)] : []),
    patched(inwards, builtin(inboundPassthroughCluster, inboundPassthrough)),
    ...addedClusters(q, inwards),
  ];
  return [ownClusters(q, own), ResourceSet.of([], failures)];
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

function gatewayClusters(q: QueryContext): ResourceSet[] {
  const sniDnat =
    q.call(mergedGateway)?.autoPassthroughHosts === undefined
      ? []
      : q.call(scopeServices, scopeOf(q)).map((scoped) =>
          attemptSet(
            () => patchClusters(q, Context.GATEWAY, q.call(sniDnatClusters, scoped)),
            () => allOfService("_.", scoped),
          ),
        );
  const own = [patched(Context.GATEWAY, builtin(blackHoleCluster, blackHole)), ...addedClusters(q, Context.GATEWAY)];
  return [ownClusters(q, own), ...sniDnat];
}

function outboundClustersOf(
  q: QueryContext,
  scoped: ScopedService,
  ports: readonly number[],
  sniDnat: boolean,
): ResourceSet {
  const service = q.call(scopedService, scoped);
  if (service === undefined) return ResourceSet.empty;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  const subsets = [
    "",
    ...servedSubsets(q, { ports: ports.length, namespace: service.namespace }, rule).served.map(({ name }) => name),
  ];
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
