import { type RouteConfiguration, RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { Route, VirtualHost } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { type ConfigDump, type DumpedResource, dumpedResource, packedIn, section } from "../dump/config-dump.js";
import { managedBy } from "./managed-by.js";
import { describeRouteMatch } from "./route-match.js";
import type { Table } from "../table.js";

/** Selects route configurations; an absent field selects all. */
export interface RouteFilter {
  /** The complete name. */
  readonly name?: string | undefined;
}

export interface RouteTableOptions {
  /** Prints a row for each route instead of the number of virtual hosts. Default: true. */
  readonly verbose?: boolean | undefined;
  /** True if names start with `route/`. Default: false. */
  readonly named?: boolean | undefined;
}

/**
 * Returns the route configurations of a dump: those named by a port sorted by port, then the others in the dump's
 * order.
 */
export function routes(dump: ConfigDump, filter: RouteFilter = {}): readonly DumpedResource<RouteConfiguration>[] {
  const found = section(dump, "RoutesConfigDump");
  const packed = packedIn(found, ["dynamicRouteConfigs", "staticRouteConfigs"], "routeConfig");
  return packed
    .map((json) => dumpedResource(RouteConfigurationSchema, json))
    .filter(({ message }) => !filter.name || message.name === filter.name)
    .sort(({ message: a }, { message: b }) => compareNames(a.name, b.name));
}

/** Summarizes route configurations. Omits rows for routes to `PassthroughCluster`, like istioctl. */
export function routeTable(
  found: readonly DumpedResource<RouteConfiguration>[],
  { verbose = true, named = false }: RouteTableOptions = {},
): Table {
  const rows = found.flatMap(({ message }) => {
    const name = named ? `route/${message.name}` : message.name;
    return verbose
      ? message.virtualHosts.flatMap((host) => hostRows(name, host))
      : [[name, String(message.virtualHosts.length)]];
  });
  return [verbose ? ["NAME", "VHOST NAME", "DOMAINS", "MATCH", "VIRTUAL SERVICE"] : ["NAME", "VIRTUAL HOSTS"], ...rows];
}

function hostRows(name: string, host: VirtualHost): string[][] {
  const domains = describeDomains(host.domains);
  if (host.routes.length === 0) return [[name, host.name, domains, "/*", "404"]];
  return host.routes
    .filter((route) => !isPassthrough(route))
    .map(({ match, metadata }) => [name, host.name, domains, describeRouteMatch(match), managedBy(metadata)]);
}

function isPassthrough({ action }: Route): boolean {
  return (
    action.case === "route" &&
    action.value.clusterSpecifier.case === "cluster" &&
    action.value.clusterSpecifier.value === "PassthroughCluster"
  );
}

const domainsShown = 2;

/** Formats the domains: the only one, or the first two without port that are not a longer form of another. */
function describeDomains(domains: readonly string[]): string {
  if (domains.length <= 1) return domains[0] ?? "";
  const withoutPort = domains.filter((domain) => !domain.includes(":") || isIpv6(domain));
  const all = new Set(withoutPort);
  const isLonger = (domain: string, suffix: string): boolean =>
    domain.endsWith(suffix) && all.has(domain.slice(0, -suffix.length));
  const short = withoutPort.filter((domain) => !isLonger(domain, ".svc.cluster.local") && !isLonger(domain, ".svc"));
  const shown = short.slice(0, domainsShown).join(", ");
  return short.length > domainsShown ? `${shown} + ${short.length - domainsShown} more...` : shown;
}

/** Reports whether a domain is an IPv6 address without a port, such as `[fd00::7]`. */
function isIpv6(domain: string): boolean {
  return domain.split(":").length > 3 && domain.endsWith("]");
}

function compareNames(a: string, b: string): number {
  const isPort = (name: string): boolean => /^\d+$/.test(name);
  if (isPort(a) !== isPort(b)) return isPort(a) ? -1 : 1;
  return isPort(a) ? Number(a) - Number(b) : 0;
}
