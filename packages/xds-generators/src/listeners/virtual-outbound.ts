import { create, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { type FilterChain, FilterChainSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { TcpProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";
import { query } from "@istiod/incremental";
import { askMetadata, features, interceptionMode, ipMode, mesh } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { address } from "../envoy/address.js";
import { any } from "../envoy/any.js";
import { blackHoleCluster, virtualOutboundBlackHoleChain, virtualOutboundCatchAllChain, virtualOutboundListener } from "../resource-names.js";
import { accessLogs } from "../telemetry/access-log.js";
import { tcpStatsFilters } from "../telemetry/stats-filters.js";
import { acceptedAtOnce } from "./downstream-connections.js";
import { additionalAddresses, localhosts, wildcards } from "./listener-address.js";
import { type Filter, networkFilter } from "./named-filter.js";
import { outboundListener, unknownTrafficFilters } from "./outbound-listener.js";
import { tcpProxyName } from "./tcp-proxy.js";

/**
 * The listener that captured outbound connections arrive at; it hands them to the others, and deals with those that none is for.
 * Undefined for a client whose connections are not captured. Source: pilot/pkg/networking/core/listener_builder.go.
 */
export const virtualOutbound = query("virtualOutbound", (q): Resource | undefined => {
  const interception = q.ask(interceptionMode);
  if (interception === "NONE") return undefined;
  const { proxyListenPort } = mesh(q);
  const mode = q.ask(ipMode);
  const [bind, ...others] = wildcards[mode];
  const extra = features.dualStack(q) ? others : mode === "IPv6" && features.additionalIpv4OutboundListener(q) ? wildcards.IPv4 : [];
  const limit = acceptedAtOnce(q);
  const listener = create(ListenerSchema, {
    name: virtualOutboundListener,
    address: address(bind, proxyListenPort),
    additionalAddresses: additionalAddresses(extra, proxyListenPort),
    ...(interception === "TPROXY" && { transparent: true }),
    useOriginalDst: true,
    trafficDirection: TrafficDirection.OUTBOUND,
    ...(limit !== undefined && { maxConnectionsToAcceptPerSocketEvent: limit }),
    filterChains: [
      blackHoleChain(virtualOutboundBlackHoleChain, proxyListenPort, tcpStatsFilters(q, "sidecar-outbound")),
      create(FilterChainSchema, { name: virtualOutboundCatchAllChain, filters: [...q.call(unknownTrafficFilters)] }),
    ],
    accessLog: [...accessLogs(q, "sidecar-outbound", "listener")],
  });
  return resource(virtualOutboundListener, toBinary(ListenerSchema, listener));
});

/** Connections to the port of the listener itself go nowhere: it would connect to itself without end. */
export function blackHoleChain(name: string, port: number, before: readonly Filter[]): FilterChain {
  const proxy = any(TcpProxySchema, { statPrefix: blackHoleCluster, clusterSpecifier: { case: "cluster", value: blackHoleCluster } });
  return create(FilterChainSchema, {
    name,
    filterChainMatch: { destinationPort: port },
    filters: [...before, networkFilter(tcpProxyName, proxy)],
  });
}

/** A generic HTTP proxy on the client's loopback, where the mesh (`proxyHttpPort`) or the node (`HTTP_PROXY_PORT`) gives it a port. */
export const httpProxyListener = query("httpProxyListener", (q): Resource | undefined => {
  const stated = Number.parseInt(askMetadata(q, "HTTP_PROXY_PORT") ?? "", 10);
  const port = Number.isNaN(stated) ? mesh(q).proxyHttpPort : stated;
  if (port === 0) return undefined;
  const chain = { kind: "http", match: {}, routeName: "http_proxy", protocol: "HTTP_PROXY" } as const;
  return q.call(outboundListener, { binds: localhosts[q.ask(ipMode)], port, bindToPort: true, chains: [chain] });
});
