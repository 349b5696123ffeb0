import { query, type QueryContext } from "@istiod/incremental";
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
} from "@istiod/push-context";
import { type Resource, ResourceSet } from "@istiod/resources";
import { isWildcardHost } from "@istiod/service-discovery";
import { opensTunnels, terminatesTunnels } from "../hbone.js";
import { chunkKey, type ServiceChunk, serviceChunks } from "../service-chunks.js";
import { blackHole, externalSds, inboundPassthrough, passthrough } from "./builtin-clusters.js";
import { allowAnyCluster, dynamicDnsCluster, resolvableProtocols } from "./dynamic-forward-proxy.js";
import { connectOriginateCluster, mainInternalCluster } from "./hbone-clusters.js";
import { inboundClusterRefs } from "./inbound/inbound-cluster-refs.js";
import { inboundCluster } from "./inbound/inbound-cluster.js";
import { outboundCluster } from "./outbound/outbound-cluster.js";

/**
 * All clusters of the client (CDS). Proxies other than Envoy have none, and proxyless gRPC applications request theirs
 * by name.
 * Source: pilot/pkg/networking/core/cluster.go, buildClusters.
 */
export const clusters = query("clusters", (q): ResourceSet => {
  const type = q.ask(proxyType);
  if (type === "ztunnel" || type === "agentgateway" || q.ask(isProxylessGrpc)) return ResourceSet.empty;
  return ResourceSet.union([q.call(outboundClusters), q.call(proxyClusters)]);
});

/** The clusters of all services that the client knows: one part of the set, shared by its class of clients. */
const outboundClusters = query("outboundClusters", (q): ResourceSet =>
  ResourceSet.union(q.call(serviceChunks).map((chunk) => q.call(chunkClusters, chunk))),
);

const chunkClusters = query(
  "chunkClusters",
  (q, { services }: ServiceChunk): ResourceSet =>
    ResourceSet.union(services.map((scoped) => q.call(serviceClusters, scoped))),
  { key: chunkKey },
);

/** The clusters of one service, for each port and subset that the client knows. Shared by its class of clients. */
const serviceClusters = query("serviceClusters", (q, scoped: ScopedService): ResourceSet => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || service.resolution === "Alias") return ResourceSet.empty;
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP");
  if (service.resolution === "DynamicDNS" && isWildcardHost(service.hostname)) {
    const resolvable = ports.filter(({ protocol }) => resolvableProtocols.includes(protocol));
    return ResourceSet.of(
      present(resolvable.map(({ number }) => q.call(dynamicDnsCluster, { service: scoped, port: number }))),
    );
  }
  return ResourceSet.of(
    outboundClustersOf(
      q,
      scoped,
      ports.map(({ number }) => number),
      false,
    ),
  );
});

/** The clusters of one service with SNI-DNAT names, for gateways with AUTO_PASSTHROUGH servers. */
const sniDnatClusters = query("sniDnatClusters", (q, scoped: ScopedService): ResourceSet => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || service.meshExternal) return ResourceSet.empty;
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP").map(({ number }) => number);
  return ResourceSet.of(outboundClustersOf(q, scoped, ports, true));
});

/** The clusters that do not belong to a service of the mesh, and the inbound clusters. */
const proxyClusters = query("proxyClusters", (q): ResourceSet => {
  const external = q.ask(rawMetadata, "credential") === "true" ? [q.call(externalSds)] : [];
  const type = q.ask(proxyType);
  const parts = type === "sidecar" ? sidecarClusters(q) : gatewayClusters(q);
  const tunnels = type !== "waypoint" && opensTunnels(q) ? [q.call(connectOriginateCluster)] : [];
  return ResourceSet.union([...parts, ResourceSet.of([...tunnels, ...external])]);
});

function sidecarClusters(q: QueryContext): ResourceSet[] {
  const dynamic = q.call(outboundTraffic, scopeOf(q)).mode === "ALLOW_ANY_DYNAMIC_DNS" ? [q.call(allowAnyCluster)] : [];
  const inbound = q.call(inboundClusterRefs).map((ref) => q.call(inboundCluster, ref));
  const tunnelled = terminatesTunnels(q) ? [q.call(mainInternalCluster)] : [];
  return [
    ResourceSet.of([
      q.call(blackHole),
      q.call(passthrough),
      ...dynamic,
      ...inbound,
      ...tunnelled,
      q.call(inboundPassthrough),
    ]),
  ];
}

function gatewayClusters(q: QueryContext): ResourceSet[] {
  const sniDnat =
    q.call(mergedGateway)?.autoPassthroughHosts === undefined
      ? []
      : q.call(scopeServices, scopeOf(q)).map((scoped) => q.call(sniDnatClusters, scoped));
  return [ResourceSet.of([q.call(blackHole)]), ...sniDnat];
}

function outboundClustersOf(
  q: QueryContext,
  scoped: ScopedService,
  ports: readonly number[],
  sniDnat: boolean,
): readonly Resource[] {
  const service = q.call(scopedService, scoped);
  if (service === undefined) return [];
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  const subsets = ["", ...(rule?.spec.subsets ?? []).map(({ name }) => name)];
  return present(
    ports.flatMap((port) =>
      subsets.map((subset) => q.call(outboundCluster, { service: scoped, port, subset, sniDnat })),
    ),
  );
}

function present(resources: readonly (Resource | undefined)[]): readonly Resource[] {
  return resources.filter((found) => found !== undefined);
}
