import type { QueryContext } from "@istiod/incremental";
import { ServerTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/gateway";
import type { RouteDestination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import {
  type BoundServer,
  bySpecificity,
  chainExtensions,
  features,
  hostsForNamespace,
  hostsOverlap,
  isPassThroughServer,
  scopeOf,
  virtualServicesForGateway,
} from "@istiod/push-context";
import { parseProtocol, splitKey } from "@istiod/service-discovery";
import type { Filter } from "../../envoy/filters.js";
import { networkExtensionFilters } from "../../extensions/extension-filters.js";
import { hasIstioExtension } from "../../istio-extensions.js";
import { tcpAuthorization } from "../../security/authorization/client-authorization.js";
import { tcpStatsFilters } from "../../telemetry/stats-filters.js";
import type { ChainSource, ConflictRecorder } from "../listener-conflicts.js";
import { metadataExchange } from "../tcp/network-filters.js";
import { type TcpAndTlsRoutes, tcpAndTlsRoutes } from "../tcp/tcp-and-tls-routes.js";
import { type ListenerPort, routeProxyPlan, type TcpProxyPlan } from "../tcp/tcp-proxy-plan.js";
import { tcpProxyFromPlan, terminalFilters } from "../tcp/tcp-proxy.js";
import { autoPassthroughChains } from "./auto-passthrough-chains.js";
import { type GatewayChain, serverSource, tlsContextOf } from "./gateway-chain.js";
import { SniHostRegistry } from "./sni-host-registry.js";

/** Returns the TCP chains of a server: with TLS that it terminates, with TLS that it passes through, or without TLS. */
export function gatewayTcpChains(
  q: QueryContext,
  server: BoundServer,
  port: number,
  sni: Map<number, SniHostRegistry>,
  recorder?: ConflictRecorder,
): readonly GatewayChain[] {
  if (server.tls !== undefined && isPassThroughServer(server)) {
    if (server.tls.mode === Mode.AUTO_PASSTHROUGH) return autoPassthroughChains(q, server);
    return passthroughChains(q, server, registryOfPort(sni, port), recorder);
  }
  const proxy = tcpRoute(q, server, recorder);
  if (proxy === undefined) return [];
  const tls = tlsContextOf(q, server);
  const filters = proxyFilters(q, proxy, server.tls?.mode === Mode.ISTIO_MUTUAL);
  return [
    {
      match: server.tls === undefined ? {} : { sniHosts: server.sniHosts },
      sources: [serverSource(server)],
      ...(tls && { tls }),
      filters: () => filters,
    },
  ];
}

function registryOfPort(sni: Map<number, SniHostRegistry>, port: number): SniHostRegistry {
  const known = sni.get(port) ?? new SniHostRegistry();
  sni.set(port, known);
  return known;
}

/** Returns the proxy of the first TCP route for the server. One VirtualService has the whole port. */
function tcpRoute(q: QueryContext, server: BoundServer, recorder?: ConflictRecorder): TcpProxyPlan | undefined {
  let first: { readonly proxy: TcpProxyPlan | undefined; readonly source: ChainSource } | undefined;
  for (const routes of boundRoutes(q, server)) {
    for (const { route, field } of portRoutes(routes, server)) {
      const source: ChainSource = { kind: "route", virtualService: routes.key, field };
      if (first === undefined) {
        first = { proxy: serverProxyPlan(q, server, route, routes), source };
        if (recorder === undefined) return first.proxy;
      } else {
        const reason = `only the first TCP route for port ${server.port.number} of Gateway ${server.gateway} applies`;
        recorder?.recordConflict(server.bind, source, first.source, reason);
      }
    }
  }
  return first?.proxy;
}

/** A route for all connections to a server. */
interface PortRoute {
  readonly route: readonly RouteDestination[];
  readonly field: string;
}

/**
 * Returns the routes of a VirtualService for all connections to a server: TCP routes, then TLS routes of a TLSRoute if
 * the server terminates TLS, since its host selects the connections. Source: `buildGatewayNetworkFiltersFromTCPRoutes`.
 */
function portRoutes({ tcp, tls, ofTlsRoute }: TcpAndTlsRoutes, server: BoundServer): readonly PortRoute[] {
  const ofTcp = tcp.flatMap(({ match, route }, i): readonly PortRoute[] =>
    route.length > 0 && (match.length === 0 || match.some((each) => appliesToServer(each, server)))
      ? [{ route, field: `spec.tcp[${i}]` }]
      : [],
  );
  if (!ofTlsRoute || server.tls === undefined) return ofTcp;
  const ofTls = tls.flatMap(({ match, route }, i) =>
    match.flatMap((each, j): readonly PortRoute[] =>
      route.length > 0 && appliesToServer(each, server) ? [{ route, field: `spec.tls[${i}].match[${j}]` }] : [],
    ),
  );
  return [...ofTcp, ...ofTls];
}

/** Returns a chain for each match of each TLS route, except matches with an SNI host that is already in use. */
function passthroughChains(
  q: QueryContext,
  server: BoundServer,
  registry: SniHostRegistry,
  recorder?: ConflictRecorder,
): readonly GatewayChain[] {
  return boundRoutes(q, server).flatMap((routes) =>
    routes.tls.flatMap(({ match: matches, route }, i) =>
      matches.flatMap(({ sniHosts, ...match }, j): readonly GatewayChain[] => {
        const proxy = serverProxyPlan(q, server, route, routes);
        if (proxy === undefined || !appliesToServer(match, server)) return [];
        const source: ChainSource = { kind: "route", virtualService: routes.key, field: `spec.tls[${i}].match[${j}]` };
        const owner = registry.owner(sniHosts, server.bind);
        if (!registry.register(sniHosts, server.bind, source)) {
          const reason = `SNI ${sniHosts.join(", ")} at port ${server.port.number} is already in use`;
          recorder?.recordConflict(server.bind, source, owner, reason);
          return [];
        }
        const filters = proxyFilters(q, proxy, false);
        return [{ match: { sniHosts }, sources: [source], filters: () => filters }];
      }),
    ),
  );
}

/**
 * Returns the TCP and TLS routes of VirtualServices that are bound to the server's Gateway and share a host with the
 * server. Those of TLSRoutes with the same host are in the order of the hostnames that they were declared for.
 */
function boundRoutes(q: QueryContext, server: BoundServer): readonly TcpAndTlsRoutes[] {
  const bound = [...new Set(q.call(virtualServicesForGateway, server.gateway))].flatMap((key) => {
    const routes = q.call(tcpAndTlsRoutes, key);
    const served = hostsForNamespace(server.hosts, splitKey(key)[0]);
    return routes !== undefined && routes.hosts.some((host) => served.some((own) => hostsOverlap(own, host)))
      ? [routes]
      : [];
  });
  return inOrderOfHostnames(bound);
}

/**
 * Sorts the TLSRoutes of each host by the hostnames that they were declared for, of which a listener may have left the
 * same: exact ones first, then longer wildcards. Each host keeps its places among the others. Source: `hostnames` of
 * TLSRoute in the Gateway API 1.7, feature GatewayRouteHostnameIntersectionPrecedence.
 */
function inOrderOfHostnames(bound: readonly TcpAndTlsRoutes[]): readonly TcpAndTlsRoutes[] {
  const places = new Map<string, number[]>();
  for (const [place, { declaredHost, hosts }] of bound.entries()) {
    const [host = ""] = hosts;
    const ofHost = places.get(host) ?? [];
    if (declaredHost !== undefined) ofHost.push(place);
    places.set(host, ofHost);
  }
  const sorted = [...bound];
  for (const ofHost of places.values()) {
    const routes = ofHost.flatMap((place) => bound[place] ?? []);
    routes.sort((a, b) => bySpecificity(a.declaredHost ?? "", b.declaredHost ?? ""));
    for (const [i, own] of routes.entries()) sorted[ofHost[i] ?? 0] = own;
  }
  return sorted;
}

function appliesToServer(
  { port, gateways }: { readonly port: number; readonly gateways: readonly string[] },
  server: BoundServer,
): boolean {
  return (port === 0 || port === server.port.number) && (gateways.length === 0 || gateways.includes(server.gateway));
}

function serverProxyPlan(
  q: QueryContext,
  server: BoundServer,
  routes: readonly RouteDestination[],
  { key }: TcpAndTlsRoutes,
): TcpProxyPlan | undefined {
  const { number, name, protocol } = server.port;
  const port: ListenerPort = { number, name, protocol: parseProtocol(protocol) };
  return routeProxyPlan(q, scopeOf(q), routes, key, port);
}

function proxyFilters(q: QueryContext, plan: TcpProxyPlan, exchanges: boolean): readonly Filter[] {
  const authorization = q.call(tcpAuthorization, "certificate");
  const extensions = chainExtensions(q, { type: "network", listener: "gateway", port: plan.port });
  const exchange = exchanges && features.metadataExchange(q) && hasIstioExtension(q, "metadataExchange");
  return [
    ...(exchange ? [metadataExchange(features.metadataExchangeAdditionalLabels(q))] : []),
    ...authorization.custom,
    ...networkExtensionFilters([...extensions.beforeAuthentication, ...extensions.beforeAuthorization]),
    ...authorization.local,
    ...networkExtensionFilters(extensions.afterAuthorization),
    ...tcpStatsFilters(q, "gateway"),
    ...terminalFilters(q, tcpProxyFromPlan(q, "gateway", plan), plan.protocol),
  ];
}
