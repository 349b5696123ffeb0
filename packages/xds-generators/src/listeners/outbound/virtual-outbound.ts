import { create, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { TcpProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";
import { query, type QueryContext } from "@istiod/incremental";
import { joinEncoded } from "@istiod/protobuf-wire";
import {
  askMetadata,
  chainExtensions,
  features,
  interceptionMode,
  ipMode,
  mesh,
  outboundTraffic,
  scopeOf,
} from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { address } from "../../envoy/address.js";
import { packAny } from "../../envoy/any.js";
import { type Filter, networkFilter } from "../../envoy/filters.js";
import {
  allowAnyDynamicDnsRoute,
  blackHoleCluster,
  delimitedStatPrefix,
  virtualOutboundBlackHoleChain,
  virtualOutboundCatchAllChain,
  virtualOutboundListener,
} from "../../resource-names.js";
import { catchAllVirtualHost } from "../../routes/catch-all-virtual-host.js";
import { maxDirectResponseBytes, newRouteConfiguration } from "../../routes/route-configuration.js";
import { accessLogs } from "../../telemetry/access-log.js";
import { tcpStatsFilters } from "../../telemetry/stats-filters.js";
import { encodedTracing } from "../../telemetry/tracing.js";
import { maxConnectionsPerSocketEvent } from "../connection-limits.js";
import { encodeChain, encodeListenerChain, type FilterChainTemplate } from "../filter-chain-template.js";
import { withRoutes } from "../http/http-connection-manager.js";
import { additionalAddresses, localhosts, wildcards } from "../listener-address.js";
import { httpInspector, plaintextHttpProtocols } from "../listener-filters.js";
import { tcpProxyName } from "../tcp/tcp-proxy.js";
import { outboundManager } from "./outbound-connection-manager.js";
import { catchAllFilters, outboundListener } from "./outbound-listener.js";
import { outboundPlan } from "./outbound-plan.js";

/**
 * The listener for captured outbound connections. It hands them off to the listeners for their original destination and
 * handles those without one. Undefined for a client without redirection. Source:
 * pilot/pkg/networking/core/listener_builder.go.
 */
export const virtualOutbound = query("virtualOutbound", (q): Resource | undefined => {
  const interception = q.ask(interceptionMode);
  if (interception === "NONE") return undefined;
  const { proxyListenPort } = mesh(q);
  const mode = q.ask(ipMode);
  const [bind, ...others] = wildcards[mode];
  const extra =
    others.length > 0 && features.dualStack(q)
      ? others
      : mode === "IPv6" && features.additionalIpv4OutboundListener(q)
        ? wildcards.IPv4
        : [];
  const limit = maxConnectionsPerSocketEvent(q);
  const resolves = q.call(outboundTraffic, scopeOf(q)).mode === "ALLOW_ANY_DYNAMIC_DNS";
  const head = create(ListenerSchema, {
    name: virtualOutboundListener,
    address: address(bind, proxyListenPort),
    additionalAddresses: additionalAddresses(extra, proxyListenPort),
    ...(interception === "TPROXY" && { transparent: true }),
    useOriginalDst: true,
    trafficDirection: TrafficDirection.OUTBOUND,
    ...(limit !== undefined && { maxConnectionsToAcceptPerSocketEvent: limit }),
    listenerFilters: resolves ? [httpInspector] : [],
    accessLog: [...accessLogs(q, "sidecar-outbound", "listener")],
  });
  const chains = [
    blackHoleChain(virtualOutboundBlackHoleChain, proxyListenPort, tcpStatsFilters(q, "sidecar-outbound")),
    ...(resolves ? [dynamicDnsHttpChain(q)] : []),
    { chain: joinEncoded([encodeChain({ name: virtualOutboundCatchAllChain }), q.call(catchAllFilters)]) },
  ];
  const parts = chains.map((chain) => encodeListenerChain(chain, () => q.call(encodedTracing, "sidecar-outbound")));
  return resource(virtualOutboundListener, joinEncoded([toBinary(ListenerSchema, head), ...parts]));
});

/** The chain for requests to unknown hosts under ALLOW_ANY_DYNAMIC_DNS, which are resolved on demand. */
function dynamicDnsHttpChain(q: QueryContext): FilterChainTemplate {
  const head = {
    name: allowAnyDynamicDnsRoute,
    maxDirectResponseBodySizeBytes: maxDirectResponseBytes,
    ignorePortInHostMatching: true,
  };
  const { bytes } = newRouteConfiguration(head, [q.call(catchAllVirtualHost, scopeOf(q))]);
  const extensions = chainExtensions(q, { type: "http", listener: "sidecar-outbound", port: 0 });
  const common = q.call(outboundManager, { grpcWeb: false, dynamicHost: null, isHttpProxy: false, extensions });
  const statPrefix = delimitedStatPrefix(`outbound_${virtualOutboundListener}_${allowAnyDynamicDnsRoute}`);
  return {
    chain: encodeChain({
      name: `${virtualOutboundCatchAllChain}-http`,
      filterChainMatch: { applicationProtocols: [...plaintextHttpProtocols(q)] },
    }),
    manager: withRoutes(common, statPrefix, { inline: bytes }),
  };
}

/** Returns the chain that drops connections to the listener's own port, which would loop. */
export function blackHoleChain(name: string, port: number, before: readonly Filter[]): FilterChainTemplate {
  const proxy = packAny(TcpProxySchema, {
    statPrefix: blackHoleCluster,
    clusterSpecifier: { case: "cluster", value: blackHoleCluster },
  });
  return {
    chain: encodeChain({
      name,
      filterChainMatch: { destinationPort: port },
      filters: [...before, networkFilter(tcpProxyName, proxy)],
    }),
  };
}

/**
 * The generic HTTP proxy on the client's loopback address, if the mesh (`proxyHttpPort`) or the node
 * (`HTTP_PROXY_PORT`) sets its port.
 */
export const httpProxyListener = query("httpProxyListener", (q): Resource | undefined => {
  const port = parsePort(askMetadata(q, "HTTP_PROXY_PORT")) ?? mesh(q).proxyHttpPort;
  if (port === 0) return undefined;
  const chain = { kind: "http", match: {}, routeName: "http_proxy", protocol: "HTTP_PROXY" } as const;
  return q.call(
    outboundListener,
    outboundPlan({ binds: localhosts[q.ask(ipMode)], port, bindToPort: true, chains: [chain] }),
  );
});

/** Parses a decimal port; 0 means none. Undefined for an invalid port, which counts as unset. */
function parsePort(text = ""): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}
