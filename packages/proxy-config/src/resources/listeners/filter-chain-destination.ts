import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import type { Filter } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import type { RouteConfiguration } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { VirtualHost } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { TcpProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";
import { describeRouteMatch } from "../route-match.js";

const httpConnectionManager = "envoy.filters.network.http_connection_manager";
const tcpProxy = "envoy.filters.network.tcp_proxy";
const blackHole = "BlackHoleCluster";

/**
 * Returns the kind of traffic that a terminal network filter handles; undefined for non-terminal filters, and for those
 * that only close connections.
 */
export function filterKind(filter: Filter): "HTTP" | "TCP" | undefined {
  if (filter.name === httpConnectionManager) return "HTTP";
  return filter.name === tcpProxy && !closesConnections(filter) ? "TCP" : undefined;
}

/** Formats the cluster or route of a filter chain like istioctl. */
export function describeDestination(filters: readonly Filter[]): string {
  const filter = filters.find((each) => filterKind(each) !== undefined);
  if (filter === undefined) return "Non-HTTP/Non-TCP";
  return filter.name === httpConnectionManager ? describeHttp(filter) : describeTcp(filter);
}

function describeHttp(filter: Filter): string {
  const specifier = configOf(HttpConnectionManagerSchema, filter)?.routeSpecifier;
  if (specifier?.case === "routeConfig") return describeRouteConfig(specifier.value);
  return specifier?.case === "rds" && specifier.value.routeConfigName !== ""
    ? `Route: ${specifier.value.routeConfigName}`
    : "HTTP";
}

function describeTcp(filter: Filter): string {
  const specifier = configOf(TcpProxySchema, filter)?.clusterSpecifier;
  return describeCluster(specifier?.case === "cluster" ? specifier.value : "");
}

/** Formats the name of a cluster; `PassthroughCluster` and similar names are self-explanatory. */
function describeCluster(name: string): string {
  return name.includes("Cluster") ? name : `Cluster: ${name}`;
}

function describeRouteConfig(config: RouteConfiguration): string {
  const only = onlyCluster(config);
  if (only !== undefined) return describeCluster(only);
  const hosts = config.virtualHosts.map((host) => {
    const routes = host.routes.map(({ match }) => describeRouteMatch(match)).join(", ");
    return isAnyDomain(host) ? routes : `${host.domains.join("/")} ${routes}`;
  });
  return `Inline Route: ${hosts.join("; ")}`;
}

/** Returns the cluster of a route configuration that sends all requests to one cluster. */
function onlyCluster({ virtualHosts: [host, ...otherHosts] }: RouteConfiguration): string | undefined {
  const [route, ...otherRoutes] = host?.routes ?? [];
  if (
    host === undefined ||
    route === undefined ||
    otherHosts.length > 0 ||
    otherRoutes.length > 0 ||
    !isAnyDomain(host)
  )
    return undefined;
  const specifier = route.match?.pathSpecifier;
  if (specifier?.case !== "prefix" || specifier.value !== "/" || route.action.case !== "route") return undefined;
  const { clusterSpecifier } = route.action.value;
  return clusterSpecifier.case === "cluster" ? clusterSpecifier.value : undefined;
}

function isAnyDomain({ domains }: VirtualHost): boolean {
  return domains.length === 1 && domains[0] === "*";
}

function closesConnections(filter: Filter): boolean {
  return filter.configType.case === "typedConfig" && Buffer.from(filter.configType.value.value).includes(blackHole);
}

/** Decodes a filter's configuration, regardless of the API version in its type URL. */
function configOf<D extends DescMessage>(schema: D, { configType }: Filter): MessageShape<D> | undefined {
  return configType.case === "typedConfig" ? fromBinary(schema, configType.value.value) : undefined;
}
