import { query } from "@istiod/incremental";
import { clientServices, destinationRuleFor, scopedService, type ScopedService } from "@istiod/push-context";
import type { Service } from "@istiod/service-discovery";
import { outboundClusterName } from "../../resource-names.js";
import { outboundCluster } from "./outbound-cluster.js";

/** Names of clusters that are asked for twice: by two services of one host, or by two ports of one number, sorted. */
export const duplicateClusters = query("duplicateClusters", (q): readonly string[] => {
  const seen = new Set<string>();
  const found = new Set<string>();
  for (const name of q.call(clientServices).flatMap((scoped) => q.call(wantedClusters, scoped)))
    (seen.has(name) ? found : seen).add(name);
  return [...found].sort();
});

/** Names of clusters that have no endpoints for the proxy to resolve, and so are left out, sorted. */
export const unresolvedClusters = query("unresolvedClusters", (q): readonly string[] =>
  [...new Set(q.call(clientServices).flatMap((scoped) => q.call(unresolvedClustersOf, scoped)))].sort(),
);

const unresolvedClustersOf = query("unresolvedClustersOf", (q, scoped: ScopedService): readonly string[] => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || !resolvedByProxy.has(service.resolution)) return [];
  const subsets =
    q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace })?.spec.subsets ?? [];
  return portsOf(service).flatMap((port) =>
    ["", ...subsets.map(({ name }) => name)]
      .filter((subset) => q.call(outboundCluster, { service: scoped, port, subset, sniDnat: false }) === undefined)
      .map((subset) => outboundClusterName(service.hostname, port, subset)),
  );
});

const resolvedByProxy: ReadonlySet<Service["resolution"]> = new Set(["DNSLB", "DNSRoundRobinLB"]);

const wantedClusters = query("wantedClusters", (q, scoped: ScopedService): readonly string[] => {
  const service = q.call(scopedService, scoped);
  if (service === undefined || service.resolution === "Alias") return [];
  const subsets =
    q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace })?.spec.subsets ?? [];
  return portsOf(service).flatMap((port) =>
    ["", ...subsets.map(({ name }) => name)].map((subset) => outboundClusterName(service.hostname, port, subset)),
  );
});

function portsOf({ ports }: Service): readonly number[] {
  return ports.filter(({ protocol }) => protocol !== "UDP").map(({ number }) => number);
}
