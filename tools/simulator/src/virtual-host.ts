import type { RouteConfiguration } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { VirtualHost } from "@istiod/envoy-api/envoy/config/route/v3/route_components";

/**
 * The virtual host for a request's host, by Envoy's order: the domain itself, then the longest `*suffix`, then the
 * longest `prefix*`, then `*`. Letters' case does not count.
 */
export function chooseVirtualHost(
  { virtualHosts, ignorePortInHostMatching }: RouteConfiguration,
  hostHeader: string,
): VirtualHost | undefined {
  const host = (ignorePortInHostMatching ? withoutPort(hostHeader) : hostHeader).toLowerCase();
  let found: VirtualHost | undefined;
  let best = 0;
  for (const virtualHost of virtualHosts) {
    for (const domain of virtualHost.domains) {
      const rank = rankOf(domain.toLowerCase(), host);
      if (rank > best) [found, best] = [virtualHost, rank];
    }
  }
  return found;
}

/** Longer than any host name. */
const longest = 1 << 16;

function rankOf(domain: string, host: string): number {
  if (domain === "*") return 1;
  if (domain === host) return 3 * longest;
  if (host.length < domain.length) return 0;
  if (domain.startsWith("*") && host.endsWith(domain.slice(1))) return 2 * longest + domain.length;
  if (domain.endsWith("*") && host.startsWith(domain.slice(0, -1))) return longest + domain.length;
  return 0;
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, "");
}
