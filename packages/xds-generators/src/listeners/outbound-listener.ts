import { create, toBinary } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { type FilterChain, FilterChainSchema, FilterChainMatchSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { query, type QueryContext } from "@istiod/incremental";
import { askMetadata, ipMode, mesh, outboundTraffic, scopeOf } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { dnsLookupFamily } from "../clusters/dns-lookup.js";
import { address } from "../envoy/address.js";
import { duration } from "../envoy/duration.js";
import { blackHoleCluster, delimitedStatPrefix, dnsCacheName, outboundClusterName, passthroughCluster, passthroughFilterChain } from "../resource-names.js";
import { tcpAuthorization } from "../security/client-authorization.js";
import { tcpStatsFilters } from "../telemetry/stats-filters.js";
import { configMetadata } from "./config-metadata.js";
import { acceptedAtOnce, exactBalance, handshakeTimeout } from "./downstream-connections.js";
import { filterChainMatch, matchesAll } from "./filter-chain-match.js";
import { managerFilter } from "./http-connection-manager.js";
import { additionalAddresses, listenerName } from "./listener-address.js";
import { httpInspector, tlsInspector } from "./listener-filters.js";
import type { Filter } from "./named-filter.js";
import { outboundManager } from "./outbound-managers.js";
import type { ChainPlan, HttpChainPlan, OutboundPlan, TcpProxyPlan } from "./outbound-plan.js";
import { plainTcpProxy, plannedTcpProxy, sniForwardProxy, terminalFilters } from "./tcp-proxy.js";

/** A listener as planned. Source: pilot/pkg/networking/core/listener.go, buildListenerFromEntry. */
export const outboundListener = query("outboundListener", (q, plan: OutboundPlan): Resource => {
  const [bind = "", ...others] = plan.binds;
  const name = listenerName(bind, plan.port);
  const fallback = plan.chains.findLast((chain) => matchesAll(chain.match));
  const chains = plan.chains.filter((chain) => !matchesAll(chain.match)).map((chain) => filterChain(q, chain, name));
  const fallbackChain = fallback && filterChain(q, fallback, name);
  const needsTls = plan.chains.some((chain) => (chain.match.sniHosts ?? []).length > 0 || (chain.kind === "tcp" && chain.proxy.dynamicHost !== undefined));
  const needsHttp = plan.chains.some((chain) => (chain.match.applicationProtocols ?? []).length > 0);
  const detectionTimeout = needsHttp ? mesh(q).protocolDetectionTimeout : duration(0);
  const limit = acceptedAtOnce(q);
  const listener = create(ListenerSchema, {
    name,
    address: address(bind, plan.port),
    additionalAddresses: additionalAddresses(others, plan.port),
    trafficDirection: TrafficDirection.OUTBOUND,
    continueOnListenerFiltersTimeout: true,
    ...(askMetadata(q, "OUTBOUND_LISTENER_EXACT_BALANCE") === true && { connectionBalanceConfig: exactBalance }),
    ...(plan.bindToPort ? limit !== undefined && { maxConnectionsToAcceptPerSocketEvent: limit } : { bindToPort: false }),
    listenerFilters: [...(needsTls ? [tlsInspector] : []), ...(needsHttp ? [httpInspector] : [])],
    ...(detectionTimeout && { listenerFiltersTimeout: detectionTimeout }),
    filterChains: fallbackChain !== undefined && chains.length === 0 ? [fallbackChain] : chains,
    ...(fallbackChain === undefined
      ? { defaultFilterChain: passthroughChain(q) }
      : chains.length > 0 && { defaultFilterChain: fallbackChain }),
  });
  return resource(name, toBinary(ListenerSchema, listener));
});

function filterChain(q: QueryContext, plan: ChainPlan, listener: string): FilterChain {
  const match = filterChainMatch(plan.match);
  const timeout = handshakeTimeout(q);
  return create(FilterChainSchema, {
    ...(match && { filterChainMatch: match }),
    ...(timeout && { transportSocketConnectTimeout: timeout }),
    ...(plan.kind === "tcp" && plan.virtualService !== undefined && { metadata: configMetadata("VirtualService", plan.virtualService) }),
    filters: plan.kind === "http" ? [httpFilterOf(q, plan, listener)] : [...tcpFilters(q, plan.proxy)],
  });
}

function httpFilterOf(q: QueryContext, { protocol, dynamicHost, routeName }: HttpChainPlan, listener: string): Filter {
  const manager = q.call(outboundManager, { grpcWeb: protocol === "GRPC-Web", dynamicHost: dynamicHost ?? null, proxiesUrls: routeName === "http_proxy" });
  return managerFilter(q, "sidecar-outbound", manager, delimitedStatPrefix(`outbound_${listener}`), { rds: routeName });
}

function tcpFilters(q: QueryContext, plan: TcpProxyPlan): readonly Filter[] {
  const terminal = terminalFilters(q, plannedTcpProxy(q, "sidecar-outbound", plan), plan.protocol);
  const stats = tcpStatsFilters(q, "sidecar-outbound");
  if (plan.dynamicHost === undefined) return [...stats, ...terminal];
  const { custom, local } = q.call(tcpAuthorization, "certificate");
  const cache = { name: dnsCacheName(plan.dynamicHost), dnsLookupFamily: dnsLookupFamily(q, q.ask(ipMode)) };
  return [...custom, ...local, ...stats, sniForwardProxy(plan.port, cache), ...terminal];
}

function passthroughChain(q: QueryContext): FilterChain {
  return create(FilterChainSchema, {
    filterChainMatch: create(FilterChainMatchSchema),
    name: passthroughFilterChain,
    filters: [...q.call(unknownTrafficFilters)],
  });
}

/** What becomes of outbound connections that no chain is for. Source: pilot/pkg/networking/core/listener_builder.go, buildOutboundCatchAllNetworkFiltersOnly. */
export const unknownTrafficFilters = query("unknownTrafficFilters", (q): readonly Filter[] => {
  const { mode, egressProxy } = q.call(outboundTraffic, scopeOf(q));
  const proxied = egressProxy && outboundClusterName(egressProxy.host, egressProxy.port?.number ?? 0, egressProxy.subset);
  const cluster = mode === "REGISTRY_ONLY" ? blackHoleCluster : (proxied ?? passthroughCluster);
  const proxy = plainTcpProxy(q, "sidecar-outbound", cluster);
  return [...tcpStatsFilters(q, "sidecar-outbound"), ...terminalFilters(q, proxy, "TCP")];
});
