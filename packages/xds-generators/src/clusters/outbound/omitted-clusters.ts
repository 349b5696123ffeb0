import { query, type QueryContext } from "@istiod/incremental";
import {
  clientServices,
  destinationRuleFor,
  type ScopedService,
  scopedService,
  type ServedSubsets,
  servedSubsets,
} from "@istiod/push-context";
import type { Service } from "@istiod/service-discovery";
import type { ListenerConflict } from "../../listeners/listener-conflicts.js";
import { outboundClusterName } from "../../resource-names.js";
import { outboundCluster } from "./outbound-cluster.js";

/** Names of clusters that two services of one host, or two ports with one number, define. Sorted. */
export const duplicateClusters = query("duplicateClusters", (q): readonly string[] => {
  const seen = new Set<string>();
  const duplicates = new Set<string>();
  for (const name of q.call(clientServices).flatMap((scoped) => q.call(clusterNamesOf, scoped)))
    (seen.has(name) ? duplicates : seen).add(name);
  return [...duplicates].sort();
});

/** Names of DNS clusters that are omitted because they have no endpoints. Sorted. */
export const dnsClustersWithoutEndpoints = query("dnsClustersWithoutEndpoints", (q): readonly string[] =>
  [...new Set(q.call(clientServices).flatMap((scoped) => q.call(dnsClustersWithoutEndpointsOf, scoped)))].sort(),
);

const dnsClustersWithoutEndpointsOf = query(
  "dnsClustersWithoutEndpointsOf",
  (q, scoped: ScopedService): readonly string[] => {
    const service = q.call(scopedService, scoped);
    if (service === undefined || !dnsResolutions.has(service.resolution)) return [];
    const { reasonWithoutClusters, served: subsets } = subsetsServedOf(q, service);
    if (reasonWithoutClusters !== undefined) return [];
    return nonUdpPorts(service).flatMap((port) =>
      ["", ...subsets.map(({ name }) => name)]
        .filter((subset) => q.call(outboundCluster, { service: scoped, port, subset, sniDnat: false }) === undefined)
        .map((subset) => outboundClusterName(service.hostname, port, subset)),
    );
  },
);

const dnsResolutions: ReadonlySet<Service["resolution"]> = new Set(["DNSLB", "DNSRoundRobinLB"]);

const clusterNamesOf = query("clusterNamesOf", (q, scoped: ScopedService): readonly string[] => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || service.resolution === "Alias") return [];
  const { reasonWithoutClusters, served: subsets } = subsetsServedOf(q, service);
  if (reasonWithoutClusters !== undefined) return [];
  return nonUdpPorts(service).flatMap((port) =>
    ["", ...subsets.map(({ name }) => name)].map((subset) => outboundClusterName(service.hostname, port, subset)),
  );
});

function subsetsServedOf(q: QueryContext, service: Service): ServedSubsets {
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  return servedSubsets(q, { ports: nonUdpPorts(service).length, namespace: service.namespace }, rule);
}

/**
 * Subsets of DestinationRules that are left out because a service has too many clusters with them, and rules whose
 * policies are too large for all ports.
 */
export const subsetsLeftOut = query("subsetsLeftOut", (q): readonly ListenerConflict[] =>
  q.call(clientServices).flatMap((scoped) => q.call(subsetsLeftOutOf, scoped) ?? []),
);

const subsetsLeftOutOf = query("subsetsLeftOutOf", (q, scoped: ScopedService): ListenerConflict | undefined => {
  const service = q.call(scopedService, scoped);
  if (service === undefined) return undefined;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  const { reasonWithoutClusters, served, reason } = subsetsServedOf(q, service);
  if (rule === undefined) return undefined;
  if (reasonWithoutClusters !== undefined) {
    const policy = { kind: "policy", object: "DestinationRule", policy: `${rule.namespace}/${rule.name}` } as const;
    return { bind: "", ignored: policy, reason: `with the clusters of ${service.hostname}: ${reasonWithoutClusters}` };
  }
  if (reason === undefined) return undefined;
  const ignored = { kind: "subset", rule: `${rule.namespace}/${rule.name}`, index: served.length } as const;
  return { bind: "", ignored, reason: `with all later subsets: for ${service.hostname}, ${reason}` };
});

function nonUdpPorts({ ports }: Service): readonly number[] {
  return ports.filter(({ protocol }) => protocol !== "UDP").map(({ number }) => number);
}
