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
import type { ChainSource, ConflictRecorder } from "../listener-conflicts.js";
import { type GatewayChain, tlsContextOf } from "./gateway-chain.js";
import type { Filter } from "../../envoy/filters.js";
import { metadataExchange } from "../tcp/network-filters.js";
import type { TcpProxyPlan } from "../outbound/outbound-plan.js";
import {
  tcpAndTlsRoutes,
  type TcpAndTlsRoutes,
  type ListenerPort,
  outboundStatPrefix,
  routeProxyPlan,
} from "../tcp/tcp-destinations.js";
import { tcpProxyFromPlan, terminalFilters } from "../tcp/tcp-proxy.js";

/** The SNI hosts that chains of one port have by now, each with the bind that it was last taken for. */
export class SniHostRegistry {
  readonly #bindOf = new Map<string, { readonly bind: string; readonly by: ChainSource }>();

  /** Takes the hosts; false, and none taken, where the bind has one of them already. */
  register(hosts: readonly string[], bind: string, by: ChainSource): boolean {
    if (this.owner(hosts, bind) !== undefined) return false;
    for (const host of hosts) this.#bindOf.set(host, { bind, by });
    return true;
  }

  /** Who has one of the hosts for the bind. */
  owner(hosts: readonly string[], bind: string): ChainSource | undefined {
    return hosts.map((host) => this.#bindOf.get(host)).find((taken) => taken?.bind === bind)?.by;
  }
}

/** The chains of a server that sees bytes: after TLS that it ends, inside of TLS that it passes on, or without TLS. */
export function gatewayTcpChains(
  q: QueryContext,
  server: BoundServer,
  port: number,
  sni: Map<number, SniHostRegistry>,
  claims?: ConflictRecorder,
): readonly GatewayChain[] {
  if (server.tls !== undefined && passesTlsThrough(server)) {
    if (server.tls.mode === Mode.AUTO_PASSTHROUGH) return autoPassthroughChains(q, server);
    return passthroughChains(q, server, registryOfPort(sni, port), claims);
  }
  const proxy = tcpRoute(q, server, claims);
  if (proxy === undefined) return [];
  const tls = tlsContextOf(q, server);
  const filters = proxyFilters(q, proxy, server.tls?.mode === Mode.ISTIO_MUTUAL);
  return [
    {
      match: server.tls === undefined ? {} : { sniHosts: server.sniHosts },
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

/** The first TCP route for the server; one VirtualService has the whole port. */
function tcpRoute(q: QueryContext, server: BoundServer, claims?: ConflictRecorder): TcpProxyPlan | undefined {
  let first: { readonly proxy: TcpProxyPlan | undefined; readonly by: ChainSource } | undefined;
  for (const routes of boundRoutes(q, server)) {
    for (const [i, { match, route }] of routes.tcp.entries()) {
      if (route.length === 0 || (match.length > 0 && !match.some((each) => appliesToServer(each, server)))) continue;
      const by: ChainSource = { kind: "route", virtualService: routes.key, field: `spec.tcp[${i}]` };
      if (first !== undefined)
        claims?.recordConflict(
          server.bind,
          by,
          first.by,
          `the first route has all of port ${server.port.number} of Gateway ${server.gateway}`,
        );
      else {
        first = { proxy: serverProxyPlan(q, server, route, routes), by };
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
  taken: SniHostRegistry,
  claims?: ConflictRecorder,
): readonly GatewayChain[] {
  return boundRoutes(q, server).flatMap((routes) =>
    routes.tls.flatMap(({ match: matches, route }, i) =>
      matches.flatMap((match, j): readonly GatewayChain[] => {
        const proxy = serverProxyPlan(q, server, route, routes);
        if (proxy === undefined || !appliesToServer(match, server)) return [];
        const by: ChainSource = { kind: "route", virtualService: routes.key, field: `spec.tls[${i}].match[${j}]` };
        const before = taken.owner(match.sniHosts, server.bind);
        if (!taken.register(match.sniHosts, server.bind, by)) {
          claims?.recordConflict(
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
          ...terminalFilters(q, tcpProxyFromPlan(q, "gateway", plan), plan.protocol),
        ];
        return { match: { sniHosts: [name], applicationProtocols: meshAlpn }, filters: () => filters };
      });
    });
  });
}

/** TCP and TLS routes of VirtualServices bound to the server's Gateway with a host of the server's. */
function boundRoutes(q: QueryContext, server: BoundServer): readonly TcpAndTlsRoutes[] {
  return [...new Set(q.call(virtualServicesForGateway, server.gateway))].flatMap((key) => {
    const routes = q.call(tcpAndTlsRoutes, key);
    const served = hostsForNamespace(server.hosts, splitKey(key)[0]);
    return routes !== undefined && routes.hosts.some((host) => served.some((own) => hostsMeet(own, host)))
      ? [routes]
      : [];
  });
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
  const exchange = exchanges && features.metadataExchange(q) && hasIstioExtension(q, "metadataExchange");
  return [
    ...(exchange ? [metadataExchange(features.metadataExchangeAdditionalLabels(q))] : []),
    ...authorization.custom,
    ...authorization.local,
    ...tcpStatsFilters(q, "gateway"),
    ...terminalFilters(q, tcpProxyFromPlan(q, "gateway", plan), plan.protocol),
  ];
}
