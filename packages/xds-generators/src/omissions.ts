import { query } from "@istiod/incremental";
import { features, proxyType, scopeOf } from "@istiod/push-context";
import {
  dnsClustersWithoutEndpoints,
  duplicateClusters,
  subsetsLeftOut,
} from "./clusters/outbound/omitted-clusters.js";
import { httpAnnouncement } from "./istio-extensions.js";
import { hasInboundConflict } from "./listeners/inbound/inbound-ports.js";
import { allGatewayConflicts, allIngressConflicts, type ListenerConflict } from "./listeners/index.js";
import { outboundListenerConflicts } from "./listeners/outbound/outbound-plans.js";
import { outboundPorts } from "./listeners/outbound/outbound-ports.js";
import { deniedPolicies } from "./security/policy-bound.js";
import { patchResults, type PatchResult } from "./patches/patch-results.js";
import { type UnservedProvider, unservedProviders } from "./telemetry/unserved-providers.js";
import { duplicateDomains, routesLeftOut, sidecarRouteNames } from "./routes/index.js";

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
  /**
   * Services, routes, servers, egress and ingress listeners that are left out at a listener, in whole or in part,
   * subsets whose clusters are too many, routes that are too many at the servers of a Gateway, and policies that are
   * too many bytes.
   */
  readonly listenerConflicts: readonly ListenerConflict[];
  /** True if two services declare different protocols for a port of the workload. */
  readonly hasInboundConflict: boolean;
  /**
   * True if the client's Envoy has no extension by which it tells servers that a connection of mutual TLS carries HTTP.
   * Servers then treat it as TCP at ports without a declared protocol.
   */
  readonly cannotAnnounceHttp: boolean;
  /** Patches of EnvoyFilters that are skipped where they match. */
  readonly skippedPatches: readonly PatchResult[];
  /** Extension providers for traces and logs whose cluster the client lacks. */
  readonly unservedProviders: readonly UnservedProvider[];
}

/** Lists are sorted and unique. Source: the gauges of pilot/pkg/model/push_context.go. */
export const omissions = query("omissions", (q): Omissions => {
  const type = q.ask(proxyType);
  const sidecar = type === "sidecar";
  const scope = scopeOf(q);
  const atPorts = sidecar
    ? q
        .call(outboundPorts, scope)
        .map((port) => ({ port, conflicts: q.call(outboundListenerConflicts, { scope, port }) }))
    : [];
  return {
    duplicateClusters: q.call(duplicateClusters),
    dnsClustersWithoutEndpoints: q.call(dnsClustersWithoutEndpoints),
    duplicateDomains: sidecar
      ? sorted(q.call(sidecarRouteNames, scope).flatMap((name) => q.call(duplicateDomains, name)))
      : [],
    conflictingOutboundListeners: sorted(
      atPorts.flatMap(({ port, conflicts }) =>
        conflicts.flatMap(({ bind, existing }) => (existing === undefined ? [] : [`${bind}_${port}`])),
      ),
    ),
    listenerConflicts:
      type === "router"
        ? [
            ...q.call(allGatewayConflicts).map(({ conflict }) => conflict),
            ...q.call(subsetsLeftOut),
            ...q.call(routesLeftOut),
            ...q.call(deniedPolicies),
          ]
        : [
            ...atPorts.flatMap(({ conflicts }) => conflicts),
            ...(sidecar ? q.call(allIngressConflicts) : []),
            ...q.call(subsetsLeftOut),
            ...(sidecar ? q.call(deniedPolicies) : []),
          ],
    hasInboundConflict: sidecar && q.call(hasInboundConflict),
    cannotAnnounceHttp: features.alpnFilter(q) && httpAnnouncement(q) === "none",
    skippedPatches: q.call(patchResults).filter(({ failures }) => failures.length > 0),
    unservedProviders: q.call(unservedProviders),
  };
});

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
