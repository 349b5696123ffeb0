import { create, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { FilterChainMatchSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { query, type QueryContext } from "@istiod/incremental";
import { joinEncoded } from "@istiod/protobuf-wire";
import { askMetadata, chainExtensions, ipMode, mesh, outboundTraffic, scopeOf } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { dnsLookupFamily } from "../../clusters/dns-lookup.js";
import { routeNameByHosts } from "../../cluster-ip-matching.js";
import { configMetadata } from "../../config-metadata.js";
import { address } from "../../envoy/address.js";
import { duration } from "../../envoy/duration.js";
import type { Filter } from "../../envoy/filters.js";
import { allExtensions, networkExtensionFilters } from "../../extensions/extension-filters.js";
import {
  blackHoleCluster,
  delimitedStatPrefix,
  dnsCacheName,
  outboundClusterName,
  passthroughCluster,
  passthroughFilterChain,
} from "../../resource-names.js";
import { tcpAuthorization } from "../../security/authorization/client-authorization.js";
import { tcpStatsFilters } from "../../telemetry/stats-filters.js";
import { encodedTracing } from "../../telemetry/tracing.js";
import { exactBalance, handshakeTimeout, maxConnectionsPerSocketEvent } from "../connection-limits.js";
import { filterChainMatch, matchesEverything } from "../filter-chain-match.js";
import { encodeChain, encodeListenerChain, type FilterChainTemplate } from "../filter-chain-template.js";
import { withRoutes } from "../http/http-connection-manager.js";
import { additionalAddresses, listenerName } from "../listener-address.js";
import { httpInspector, tlsInspector } from "../listener-filters.js";
import type { TcpProxyPlan } from "../tcp/tcp-proxy-plan.js";
import { simpleTcpProxy, sniDynamicForwardProxy, tcpProxyFromPlan, terminalFilters } from "../tcp/tcp-proxy.js";
import { outboundManager } from "./outbound-connection-manager.js";
import { type ChainPlan, hasHttpChains, type HttpChainPlan, type OutboundPlan } from "./outbound-plan.js";

/** Builds a listener from its plan. Source: pilot/pkg/networking/core/listener.go, buildListenerFromEntry. */
export const outboundListener = query(
  "outboundListener",
  (q, plan: OutboundPlan): Resource => {
    const { name, head, chains, fallback } = hasHttpChains(plan)
      ? q.call(outboundListenerTemplate, plan)
      : buildTemplate(q, plan);
    const tracing = (): Uint8Array => q.call(encodedTracing, "sidecar-outbound");
    const parts = chains.map((chain) => encodeListenerChain(chain, tracing));
    if (fallback !== undefined) parts.push(encodeListenerChain(fallback, tracing, "defaultFilterChain"));
    return resource(name, joinEncoded([head, ...parts]));
  },
  { key: ({ key }) => key },
);

/** A listener without tracing. */
interface ListenerTemplate {
  readonly name: string;
  /** The listener without its chains, encoded. */
  readonly head: Uint8Array;
  readonly chains: readonly FilterChainTemplate[];
  /** The default filter chain, if there are other chains. */
  readonly fallback?: FilterChainTemplate;
}

const outboundListenerTemplate = query("outboundListenerTemplate", buildTemplate, { key: ({ key }) => key });

function buildTemplate(q: QueryContext, plan: OutboundPlan): ListenerTemplate {
  const [bind = "", ...others] = plan.binds;
  const name = listenerName(bind, plan.port);
  const last = plan.chains.findLast((chain) => matchesEverything(chain.match));
  const chains = plan.chains
    .filter((chain) => !matchesEverything(chain.match))
    .map((chain) => filterChain(q, chain, name, plan.port));
  const needsTls = plan.chains.some(
    (chain) =>
      (chain.match.sniHosts ?? []).length > 0 || (chain.kind === "tcp" && chain.proxy.dynamicHost !== undefined),
  );
  const needsHttp = plan.chains.some((chain) => (chain.match.applicationProtocols ?? []).length > 0);
  const detectionTimeout = needsHttp ? mesh(q).protocolDetectionTimeout : duration(0);
  const limit = maxConnectionsPerSocketEvent(q);
  const listener = create(ListenerSchema, {
    name,
    address: address(bind, plan.port),
    additionalAddresses: additionalAddresses(others, plan.port),
    trafficDirection: TrafficDirection.OUTBOUND,
    continueOnListenerFiltersTimeout: true,
    ...(askMetadata(q, "OUTBOUND_LISTENER_EXACT_BALANCE") === true && { connectionBalanceConfig: exactBalance }),
    ...(plan.bindToPort
      ? limit !== undefined && { maxConnectionsToAcceptPerSocketEvent: limit }
      : { bindToPort: false }),
    listenerFilters: [...(needsTls ? [tlsInspector] : []), ...(needsHttp ? [httpInspector] : [])],
    ...(detectionTimeout && { listenerFiltersTimeout: detectionTimeout }),
  });
  const fallback = last === undefined ? passthroughChain(q) : filterChain(q, last, name, plan.port);
  const head = toBinary(ListenerSchema, listener);
  return last !== undefined && chains.length === 0
    ? { name, head, chains: [fallback] }
    : { name, head, chains, fallback };
}

function filterChain(q: QueryContext, plan: ChainPlan, listener: string, port: number): FilterChainTemplate {
  const match = filterChainMatch(plan.match);
  const timeout = handshakeTimeout(q);
  const chain = encodeChain({
    ...(match && { filterChainMatch: match }),
    ...(timeout && { transportSocketConnectTimeout: timeout }),
    ...(plan.kind === "tcp" &&
      plan.virtualService !== undefined && { metadata: configMetadata("VirtualService", plan.virtualService) }),
    filters: [...(plan.kind === "http" ? filtersBeforeManager(q, port) : tcpFilters(q, plan.proxy))],
  });
  return plan.kind === "http" ? { chain, manager: manager(q, plan, listener, port) } : { chain };
}

function filtersBeforeManager(q: QueryContext, port: number): readonly Filter[] {
  return networkExtensionFilters(
    allExtensions(chainExtensions(q, { type: "network", listener: "sidecar-outbound", port })),
  );
}

function manager(
  q: QueryContext,
  { protocol, dynamicHost, routeName }: HttpChainPlan,
  listener: string,
  port: number,
): Uint8Array {
  const common = q.call(outboundManager, {
    grpcWeb: protocol === "GRPC-Web",
    dynamicHost: dynamicHost ?? null,
    isHttpProxy: routeName === "http_proxy",
    byClusterIp: routeNameByHosts(routeName) !== undefined,
    extensions: chainExtensions(q, { type: "http", listener: "sidecar-outbound", port }),
  });
  return withRoutes(common, delimitedStatPrefix(`outbound_${listener}`), { rds: routeName });
}

function tcpFilters(q: QueryContext, plan: TcpProxyPlan): readonly Filter[] {
  const terminal = terminalFilters(q, tcpProxyFromPlan(q, "sidecar-outbound", plan), plan.protocol);
  const stats = tcpStatsFilters(q, "sidecar-outbound");
  const extensions = chainExtensions(q, { type: "network", listener: "sidecar-outbound", port: plan.port });
  if (plan.dynamicHost === undefined)
    return [...networkExtensionFilters(allExtensions(extensions)), ...stats, ...terminal];
  const { custom, local } = q.call(tcpAuthorization, "certificate");
  const cache = { name: dnsCacheName(plan.dynamicHost), dnsLookupFamily: dnsLookupFamily(q, q.ask(ipMode)) };
  return [
    ...custom,
    ...networkExtensionFilters([...extensions.beforeAuthentication, ...extensions.beforeAuthorization]),
    ...local,
    ...networkExtensionFilters(extensions.afterAuthorization),
    ...stats,
    sniDynamicForwardProxy(plan.port, cache),
    ...terminal,
  ];
}

function passthroughChain(q: QueryContext): FilterChainTemplate {
  return { chain: joinEncoded([passthroughHead, q.call(catchAllFilters)]) };
}

const passthroughHead = encodeChain({
  filterChainMatch: create(FilterChainMatchSchema),
  name: passthroughFilterChain,
});

/**
 * The network filters for outbound connections that no chain matches, encoded as part of a chain. Source:
 * pilot/pkg/networking/core/listener_builder.go, buildOutboundCatchAllNetworkFiltersOnly.
 */
export const catchAllFilters = query("catchAllFilters", (q): Uint8Array => {
  const { mode, egressProxy } = q.call(outboundTraffic, scopeOf(q));
  const proxied =
    egressProxy && outboundClusterName(egressProxy.host, egressProxy.port?.number ?? 0, egressProxy.subset);
  const cluster = mode === "REGISTRY_ONLY" ? blackHoleCluster : (proxied ?? passthroughCluster);
  const proxy = simpleTcpProxy(q, "sidecar-outbound", cluster);
  return encodeChain({ filters: [...tcpStatsFilters(q, "sidecar-outbound"), ...terminalFilters(q, proxy, "TCP")] });
});
