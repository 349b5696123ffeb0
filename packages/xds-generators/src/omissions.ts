import { query } from "@istiod/incremental";
import { proxyType, scopeOf } from "@istiod/push-context";
import { duplicateClusters, unresolvedClusters } from "./clusters/outbound/omitted-clusters.js";
import { inboundConflict } from "./listeners/inbound/inbound-ports.js";
import { lostConnections } from "./listeners/outbound/outbound-plans.js";
import { outboundPorts } from "./listeners/outbound/outbound-ports.js";
import { repeatedDomains, sidecarRouteNames } from "./routes/index.js";

/** What of a client's mesh is left out of its resources, because something else has its place or because nothing is there. */
export interface Findings {
  /** Names of clusters that a second service asks for. */
  readonly duplicateClusters: readonly string[];
  /** Clusters whose endpoints the proxy would have to resolve, and that have none. */
  readonly unresolvedClusters: readonly string[];
  /** Virtual hosts, `host:port`, that are wanted twice, or that lost domains to others. */
  readonly repeatedDomains: readonly string[];
  /** Listeners, `address_port`, where connections that a service wanted are another's. */
  readonly outboundConflicts: readonly string[];
  /** Whether two services describe a port of the workload differently. */
  readonly inboundConflict: boolean;
}

/** Names are in order and unique. Source of what counts: the gauges of pilot/pkg/model/push_context.go. */
export const findings = query("findings", (q): Findings => {
  const sidecar = q.ask(proxyType) === "sidecar";
  const scope = scopeOf(q);
  return {
    duplicateClusters: q.call(duplicateClusters),
    unresolvedClusters: q.call(unresolvedClusters),
    repeatedDomains: sidecar
      ? sorted(q.call(sidecarRouteNames, scope).flatMap((name) => q.call(repeatedDomains, name)))
      : [],
    outboundConflicts: sidecar
      ? sorted(
          q
            .call(outboundPorts, scope)
            .flatMap((port) => q.call(lostConnections, { scope, port }).map(({ bind }) => `${bind}_${port}`)),
        )
      : [],
    inboundConflict: sidecar && q.call(inboundConflict),
  };
});

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
