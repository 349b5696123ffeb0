import { query } from "@istiod/incremental";
import { proxyType, scopeOf } from "@istiod/push-context";
import { dnsClustersWithoutEndpoints, duplicateClusters } from "./clusters/outbound/omitted-clusters.js";
import { hasInboundConflict } from "./listeners/inbound/inbound-ports.js";
import { outboundListenerConflicts } from "./listeners/outbound/outbound-plans.js";
import { outboundPorts } from "./listeners/outbound/outbound-ports.js";
import { duplicateDomains, sidecarRouteNames } from "./routes/index.js";

/** What of a client's mesh is left out of its resources, because something else has its place or because nothing is there. */
export interface Omissions {
  /** Names of clusters that a second service asks for. */
  readonly duplicateClusters: readonly string[];
  /** Clusters whose endpoints the proxy would have to resolve, and that have none. */
  readonly dnsClustersWithoutEndpoints: readonly string[];
  /** Virtual hosts, `host:port`, that are wanted twice, or that lost domains to others. */
  readonly duplicateDomains: readonly string[];
  /** Listeners, `address_port`, where connections that a service wanted are another's. */
  readonly conflictingOutboundListeners: readonly string[];
  /** Whether two services describe a port of the workload differently. */
  readonly hasInboundConflict: boolean;
}

/** Names are in order and unique. Source of what counts: the gauges of pilot/pkg/model/push_context.go. */
export const omissions = query("omissions", (q): Omissions => {
  const sidecar = q.ask(proxyType) === "sidecar";
  const scope = scopeOf(q);
  return {
    duplicateClusters: q.call(duplicateClusters),
    dnsClustersWithoutEndpoints: q.call(dnsClustersWithoutEndpoints),
    duplicateDomains: sidecar
      ? sorted(q.call(sidecarRouteNames, scope).flatMap((name) => q.call(duplicateDomains, name)))
      : [],
    conflictingOutboundListeners: sidecar
      ? sorted(
          q
            .call(outboundPorts, scope)
            .flatMap((port) => q.call(outboundListenerConflicts, { scope, port }).map(({ bind }) => `${bind}_${port}`)),
        )
      : [],
    hasInboundConflict: sidecar && q.call(hasInboundConflict),
  };
});

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
