import { query, type QueryContext } from "@istiod/incremental";
import {
  clientServices,
  destinationRuleFor,
  mergedGateway,
  outboundTraffic,
  proxylessGrpc,
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
import { blackHole, externalSds, inboundPassthrough, passthrough } from "./builtin-clusters.js";
import { allowAnyCluster, dynamicDnsCluster, resolvableProtocols } from "./dynamic-forward-proxy.js";
import { connectOriginateCluster, mainInternalCluster } from "./hbone-clusters.js";
import { inboundClusterRefs } from "./inbound/inbound-cluster-refs.js";
import { inboundCluster } from "./inbound/inbound-cluster.js";
import { outboundCluster } from "./outbound/outbound-cluster.js";

/**
 * All clusters of the client. Those that speak no Envoy's clusters have none, and applications without a proxy ask for theirs by name.
 * Source: pilot/pkg/networking/core/cluster.go, buildClusters.
 */
export const clusters = query("clusters", (q): ResourceSet => {
  const type = q.ask(proxyType);
  if (type === "ztunnel" || type === "agentgateway" || q.ask(proxylessGrpc)) return ResourceSet.empty;
  return ResourceSet.union([q.call(outboundClusters), q.call(proxyClusters)]);
});

/** The clusters of all services that the client knows: one set for all clients alike in this, and so one part of the sets of all of them. */
const outboundClusters = query("outboundClusters", (q): ResourceSet =>
  ResourceSet.union(q.call(clientServices).map((scoped) => q.call(serviceClusters, scoped))),
);

/** The clusters of one service: of each port, and of each subset that the client knows. Clients alike share the set. */
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

/** The clusters of one service by which a gateway passes on TLS that it does not open. Names and subsets are those of the others. */
const sniDnatClusters = query("sniDnatClusters", (q, scoped: ScopedService): ResourceSet => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || service.meshExternal) return ResourceSet.empty;
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP").map(({ number }) => number);
  return ResourceSet.of(outboundClustersOf(q, scoped, ports, true));
});

/** The clusters that stand for no service of the mesh, and those of the workload itself. */
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
