import { copiedBytes } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { explicitHosts } from "../gateways/bound-server.js";
import { gatewayObject } from "../gateways/merged-gateway.js";
import { features } from "../mesh/features.js";
import { hostsForNamespace, intersectHosts } from "../visibility/host-names.js";
import { matchesOf, virtualService } from "./virtual-service.js";

/** A VirtualService at a Gateway, both as `namespace/name`. */
export interface BoundRoutes {
  readonly gateway: string;
  readonly virtualService: string;
}

/** The first servers of a Gateway, which have the routes of a VirtualService. */
export interface RoutedServers {
  readonly count: number;
  /** The numbers and the variable that raises the bound; absent if all servers have the routes. */
  readonly reason?: string;
}

/**
 * Returns the servers of a Gateway that have the routes of a VirtualService. Each server repeats the routes of all
 * hosts that it shares with the VirtualService. Neither object is wrong by itself: the first servers within the bound
 * have the routes, and those after them do not.
 */
export const routedServers = query(
  "routedServers",
  (q, { gateway, virtualService: key }: BoundRoutes): RoutedServers => {
    const object = q.call(gatewayObject, gateway);
    const servers = object?.spec.servers ?? [];
    const found = q.call(virtualService, key);
    if (found === undefined) return { count: servers.length };
    const matches = matchesOf(found.spec.http);
    const bytes = copiedBytes(found.spec.http);
    let hostCount = 0;
    for (const [index, server] of servers.entries()) {
      const hosts = hostsForNamespace(explicitHosts(server.hosts, object?.namespace ?? ""), found.namespace);
      hostCount += intersectHosts(hosts, found.spec.hosts).length;
      for (const [each, unit, bound] of [
        [matches, "routes", features.maxGatewayRoutes],
        [bytes, "bytes of routes", features.maxGatewayBytes],
      ] as const)
        if (hostCount * each > bound(q))
          return {
            count: index,
            reason: `${hostCount * each} ${unit} at the first ${index + 1} servers of Gateway ${gateway}, of at most ${bound(q)} (${bound.variable})`,
          };
    }
    return { count: servers.length };
  },
);

/**
 * Reports whether a server of a Gateway has the routes of a VirtualService.
 *
 * @param index its position in the Gateway
 */
export function hasRoutesOf(q: QueryContext, bound: BoundRoutes, index: number): boolean {
  return index < fewServers(q) || index < q.call(routedServers, bound).count;
}

/** Returns a number of servers that always have all routes, because of the bounds of a VirtualService alone. */
export function fewServers(q: QueryContext): number {
  const byRoutes = features.maxGatewayRoutes(q) / features.maxRoutes(q);
  return Math.floor(Math.min(byRoutes, features.maxGatewayBytes(q) / features.maxCopiedBytes(q)));
}
