import type { QueryContext } from "@istiod/incremental";
import { ServerTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/gateway";
import type { RouteDestination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import {
  type BoundServer,
  features,
  hostsForNamespace,
  hostsMeet,
  hostWithin,
  passesTlsThrough,
  scopedService,
  scopeOf,
  scopeServices,
  subsetsOf,
  virtualServicesForGateway,
} from "@istiod/push-context";
import { parseProtocol, splitKey } from "@istiod/service-discovery";
import { hasIstioExtension } from "../../istio-extensions.js";
import { sniDnatClusterName } from "../../resource-names.js";
import { tcpAuthorization } from "../../security/authorization/client-authorization.js";
import { tcpStatsFilters } from "../../telemetry/stats-filters.js";
import type { Claimant, Claims } from "../listener-conflicts.js";
import { type GatewayChain, tlsOf } from "./gateway-chain.js";
import type { Filter } from "../../envoy/filters.js";
import { metadataExchange } from "../tcp/network-filters.js";
import type { TcpProxyPlan } from "../outbound/outbound-plan.js";
import {
  layer4Routes,
  type Layer4Routes,
  type ListenerPort,
  outboundStatPrefix,
  routedProxy,
} from "../tcp/tcp-destinations.js";
import { plannedTcpProxy, terminalFilters } from "../tcp/tcp-proxy.js";

/** The SNI hosts that chains of one port have by now, each with the bind that it was last taken for. */
export class SniHosts {
  readonly #bindOf = new Map<string, { readonly bind: string; readonly by: Claimant }>();

  /** Takes the hosts; false, and none taken, where the bind has one of them already. */
  claim(hosts: readonly string[], bind: string, by: Claimant): boolean {
    if (this.owner(hosts, bind) !== undefined) return false;
    for (const host of hosts) this.#bindOf.set(host, { bind, by });
    return true;
  }

  /** Who has one of the hosts for the bind. */
  owner(hosts: readonly string[], bind: string): Claimant | undefined {
    return hosts.map((host) => this.#bindOf.get(host)).find((taken) => taken?.bind === bind)?.by;
  }
}

/** The chains of a server that sees bytes: after TLS that it ends, inside of TLS that it passes on, or without TLS. */
export function gatewayTcpChains(
  q: QueryContext,
  server: BoundServer,
  port: number,
  sni: Map<number, SniHosts>,
  claims?: Claims,
): readonly GatewayChain[] {
  if (server.tls !== undefined && passesTlsThrough(server)) {
    if (server.tls.mode === Mode.AUTO_PASSTHROUGH) return autoPassthroughChains(q, server);
    return passthroughChains(q, server, hostsOfPort(sni, port), claims);
  }
  const proxy = tcpRoute(q, server, claims);
  if (proxy === undefined) return [];
  const tls = tlsOf(q, server);
  const filters = proxyFilters(q, proxy, server.tls?.mode === Mode.ISTIO_MUTUAL);
  return [
    {
      match: server.tls === undefined ? {} : { sniHosts: server.sniHosts },
      ...(tls && { tls }),
      filters: () => filters,
    },
  ];
}

function hostsOfPort(sni: Map<number, SniHosts>, port: number): SniHosts {
  const known = sni.get(port) ?? new SniHosts();
  sni.set(port, known);
  return known;
}

/** The first TCP route for the server; one VirtualService has the whole port. */
function tcpRoute(q: QueryContext, server: BoundServer, claims?: Claims): TcpProxyPlan | undefined {
  let first: { readonly proxy: TcpProxyPlan | undefined; readonly by: Claimant } | undefined;
  for (const routes of boundRoutes(q, server)) {
    for (const [i, { match, route }] of routes.tcp.entries()) {
      if (route.length === 0 || (match.length > 0 && !match.some((each) => concerns(each, server)))) continue;
      const by: Claimant = { kind: "route", virtualService: routes.key, field: `spec.tcp[${i}]` };
      if (first !== undefined)
        claims?.lose(
          server.bind,
          by,
          first.by,
          `the first route has all of port ${server.port.number} of Gateway ${server.gateway}`,
        );
      else {
        first = { proxy: routeOf(q, server, route, routes), by };
        if (claims === undefined) return first.proxy;
      }
    }
  }
  return first?.proxy;
}

/** A chain for each match of each TLS route; SNI hosts that are taken are left out. */
function passthroughChains(
  q: QueryContext,
  server: BoundServer,
  taken: SniHosts,
  claims?: Claims,
): readonly GatewayChain[] {
  return boundRoutes(q, server).flatMap((routes) =>
    routes.tls.flatMap(({ match: matches, route }, i) =>
      matches.flatMap((match, j): readonly GatewayChain[] => {
        const proxy = routeOf(q, server, route, routes);
        if (proxy === undefined || !concerns(match, server)) return [];
        const by: Claimant = { kind: "route", virtualService: routes.key, field: `spec.tls[${i}].match[${j}]` };
        const before = taken.owner(match.sniHosts, server.bind);
        if (!taken.claim(match.sniHosts, server.bind, by)) {
          claims?.lose(
            server.bind,
            by,
            before,
            `SNI ${match.sniHosts.join(", ")} at port ${server.port.number} is taken`,
          );
          return [];
        }
        const filters = proxyFilters(q, proxy, false);
        return [{ match: { sniHosts: match.sniHosts }, filters: () => filters }];
      }),
    ),
  );
}

/** ALPNs of all connections in the mesh's mutual TLS. */
const meshAlpn = ["istio", "istio-peer-exchange", "istio-http/1.0", "istio-http/1.1", "istio-h2"];

/**
 * A chain for each service and subset within the server's hosts, by the SNI that peers in the mesh use. Only mutual TLS matches, and
 * only endpoints that take it are sent, so nothing is reached without it; policies are left to the workload.
 */
function autoPassthroughChains(q: QueryContext, server: BoundServer): readonly GatewayChain[] {
  return q.call(scopeServices, scopeOf(q)).flatMap((scoped) => {
    const service = q.call(scopedService, scoped);
    if (
      service === undefined ||
      service.meshExternal ||
      !server.sniHosts.some((host) => hostWithin(service.hostname, host))
    )
      return [];
    const rule = { host: service.hostname, serviceNamespace: service.namespace };
    return service.ports.flatMap((port) => {
      if (port.protocol === "UDP") return [];
      const subsets = ["", ...q.call(subsetsOf, rule).map(({ name }) => name)];
      return subsets.map((subset): GatewayChain => {
        const name = sniDnatClusterName(service.hostname, port.number, subset);
        const plan: TcpProxyPlan = {
          statPrefix: outboundStatPrefix(q, name, service, port, subset),
          clusters: [{ name, weight: 0 }],
          subset,
          rule,
          tunnels: false,
          protocol: port.protocol,
          port: port.number,
        };
        const filters = [
          ...tcpStatsFilters(q, "gateway"),
          ...terminalFilters(q, plannedTcpProxy(q, "gateway", plan), plan.protocol),
        ];
        return { match: { sniHosts: [name], applicationProtocols: meshAlpn }, filters: () => filters };
      });
    });
  });
}

/** TCP and TLS routes of VirtualServices bound to the server's Gateway with a host of the server's. */
function boundRoutes(q: QueryContext, server: BoundServer): readonly Layer4Routes[] {
  return [...new Set(q.call(virtualServicesForGateway, server.gateway))].flatMap((key) => {
    const routes = q.call(layer4Routes, key);
    const served = hostsForNamespace(server.hosts, splitKey(key)[0]);
    return routes !== undefined && routes.hosts.some((host) => served.some((own) => hostsMeet(own, host)))
      ? [routes]
      : [];
  });
}

function concerns(
  { port, gateways }: { readonly port: number; readonly gateways: readonly string[] },
  server: BoundServer,
): boolean {
  return (port === 0 || port === server.port.number) && (gateways.length === 0 || gateways.includes(server.gateway));
}

function routeOf(
  q: QueryContext,
  server: BoundServer,
  routes: readonly RouteDestination[],
  { key }: Layer4Routes,
): TcpProxyPlan | undefined {
  const { number, name, protocol } = server.port;
  const port: ListenerPort = { number, name, protocol: parseProtocol(protocol) };
  return routedProxy(q, scopeOf(q), routes, key, port);
}

function proxyFilters(q: QueryContext, plan: TcpProxyPlan, exchanges: boolean): readonly Filter[] {
  const authorization = q.call(tcpAuthorization, "certificate");
  const exchange = exchanges && features.metadataExchange(q) && hasIstioExtension(q, "metadataExchange");
  return [
    ...(exchange ? [metadataExchange(features.metadataExchangeAdditionalLabels(q))] : []),
    ...authorization.custom,
    ...authorization.local,
    ...tcpStatsFilters(q, "gateway"),
    ...terminalFilters(q, plannedTcpProxy(q, "gateway", plan), plan.protocol),
  ];
}
