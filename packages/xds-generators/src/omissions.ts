import { query } from "@istiod/incremental";
import { proxyType, scopeOf } from "@istiod/push-context";
import { dnsClustersWithoutEndpoints, duplicateClusters } from "./clusters/outbound/omitted-clusters.js";
import { hasInboundConflict } from "./listeners/inbound/inbound-ports.js";
import { outboundListenerConflicts } from "./listeners/outbound/outbound-plans.js";
import { outboundPorts } from "./listeners/outbound/outbound-ports.js";
import { duplicateDomains, sidecarRouteNames } from "./routes/index.js";

/** Configuration that is omitted from a client's resources because of a conflict or because there are no endpoints. */
export interface Omissions {
  /** Names of clusters that are defined twice. */
  readonly duplicateClusters: readonly string[];
  /** DNS clusters without endpoints. */
  readonly dnsClustersWithoutEndpoints: readonly string[];
  /** Virtual hosts, `host:port`, that are defined twice or lost a domain to another. */
  readonly duplicateDomains: readonly string[];
  /** Listeners, `address_port`, with conflicting TCP services. */
  readonly conflictingOutboundListeners: readonly string[];
  /** True if two services declare different protocols for a port of the workload. */
  readonly hasInboundConflict: boolean;
}

/** Lists are sorted and unique. Source: the gauges of pilot/pkg/model/push_context.go. */
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
