import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { AdditionalAddressSchema, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { type FilterChain, FilterChainSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { UdpListenerConfigSchema } from "@istiod/envoy-api/envoy/config/listener/v3/udp_listener_config";
import { query, type QueryContext } from "@istiod/incremental";
import {
  askMetadata,
  type BoundServer,
  features,
  ipMode,
  mergedGateway,
  proxyConfig,
  type ServerGroup,
  isHttpsServerWithTlsTermination,
  isUnprivileged,
} from "@istiod/push-context";
import { type Resource, resource, ResourceSet } from "@istiod/resources";
import { isHttp, parseProtocol } from "@istiod/service-discovery";
import { address, udpAddress } from "../../envoy/address.js";
import { delimitedStatPrefix } from "../../resource-names.js";
import { downstreamQuicSocket, downstreamTlsSocket } from "../../security/tls/downstream-tls.js";
import { accessLogs } from "../../telemetry/access-log.js";
import { exactBalance, handshakeTimeout, maxConnectionsPerSocketEvent } from "../connection-limits.js";
import { filterChainMatch } from "../filter-chain-match.js";
import { connectionSettings, nonNegative } from "../http/connection-settings.js";
import { managerFilter } from "../http/http-connection-manager.js";
import { additionalAddresses, listenerName, wildcards } from "../listener-address.js";
import { ConflictRecorder, type ListenerConflict } from "../listener-conflicts.js";
import { proxyProtocol, tlsInspector } from "../listener-filters.js";
import { type GatewayChain, quicTlsContextOf, tlsContextOf } from "./gateway-chain.js";
import { gatewayManager } from "./gateway-connection-manager.js";
import { gatewayTcpChains } from "./gateway-tcp-chains.js";
import type { SniHostRegistry } from "./sni-host-registry.js";

/**
 * The listeners of a gateway: one for each port and bind of its Gateways, and another one for HTTP/3 where it is
 * served. Source: pilot/pkg/networking/core/gateway.go.
 */
export const gatewayListeners = query("gatewayListeners", (q): ResourceSet => {
  const byName = new Map<
    string,
    { readonly binds: readonly string[]; readonly port: number; readonly groups: ServerGroup[] }
  >();
  for (const group of q.call(mergedGateway)?.groups ?? []) {
    if (group.port < 1024 && q.ask(isUnprivileged)) continue;
    const binds = bindsOf(q, group);
    const name = listenerName(binds[0] ?? "", group.port);
    const listener = byName.get(name);
    if (listener === undefined) byName.set(name, { binds, port: group.port, groups: [group] });
    else listener.groups.push(group);
  }
  const sni = new Map<number, SniHostRegistry>();
  return ResourceSet.of(
    [...byName].flatMap(([name, { binds, port, groups }]) =>
      [gatewayListener(q, name, binds, port, groups, sni), http3Listener(q, binds, port, groups)].filter(
        (found) => found !== undefined,
      ),
    ),
  );
});

/**
 * Routes of VirtualServices that are ignored at a gateway's listener because another one matches the same connections.
 */
export const gatewayListenerConflicts = query(
  "gatewayListenerConflicts",
  (q, name: string): readonly ListenerConflict[] => {
    const sni = new Map<number, SniHostRegistry>();
    return (q.call(mergedGateway)?.groups ?? []).flatMap((group) => {
      if (isHttp(parseProtocol(group.protocol))) return [];
      const recorder = new ConflictRecorder();
      for (const server of group.servers)
        if (!isHttpsServerWithTlsTermination(server)) gatewayTcpChains(q, server, group.port, sni, recorder);
      return listenerName(bindsOf(q, group)[0] ?? "", group.port) === name ? recorder.conflicts : [];
    });
  },
);

function bindsOf(q: QueryContext, { bind }: ServerGroup): readonly string[] {
  if (bind !== "") return [bind];
  const all = wildcards[q.ask(ipMode)];
  return features.dualStack(q) ? all : [all[0]];
}

function gatewayListener(
  q: QueryContext,
  name: string,
  binds: readonly string[],
  port: number,
  groups: readonly ServerGroup[],
  sni: Map<number, SniHostRegistry>,
): Resource | undefined {
  const chains = groups.flatMap((group) => chainsOf(q, group, sni));
  if (chains.length === 0) return undefined;
  const [bind = "", ...others] = binds;
  const inspects = chains.some(({ match, tls }) => (match.sniHosts ?? []).length > 0 || tls !== undefined);
  const stripsProxyHeader = proxyConfig(q, "gatewayTopology")?.proxyProtocol !== undefined;
  const listener = create(ListenerSchema, {
    ...commonListenerFields(q, name),
    address: address(bind, port),
    additionalAddresses: additionalAddresses(others, port),
    listenerFilters: [...(stripsProxyHeader ? [proxyProtocol] : []), ...(inspects ? [tlsInspector] : [])],
    filterChains: chains.map((chain) => filterChain(q, chain, name)),
    ...(askMetadata(q, "OUTBOUND_LISTENER_EXACT_BALANCE") === true && { connectionBalanceConfig: exactBalance }),
  });
  return resource(name, toBinary(ListenerSchema, listener));
}

/** Returns the fields that all listeners of gateways have. */
function commonListenerFields(q: QueryContext, name: string): MessageInitShape<typeof ListenerSchema> {
  const limit = maxConnectionsPerSocketEvent(q);
  const buffer = nonNegative(connectionSettings(q)?.listenerPerConnectionBufferLimitBytes);
  return {
    name,
    trafficDirection: TrafficDirection.OUTBOUND,
    ...(limit !== undefined && { maxConnectionsToAcceptPerSocketEvent: limit }),
    ...(buffer !== undefined && { perConnectionBufferLimitBytes: buffer }),
    accessLog: [...accessLogs(q, "gateway", "listener")],
  };
}

/** Returns the UDP listener for the servers of a port with HTTP/3; undefined if there is none. */
function http3Listener(
  q: QueryContext,
  binds: readonly string[],
  port: number,
  groups: readonly ServerGroup[],
): Resource | undefined {
  const servers = groups.flatMap((group) => group.servers.filter(({ http3 }) => http3));
  if (servers.length === 0) return undefined;
  const [bind = "", ...others] = binds;
  const name = `udp_${listenerName(bind, port)}`;
  const listener = create(ListenerSchema, {
    ...commonListenerFields(q, name),
    address: udpAddress(bind, port),
    additionalAddresses: others.map((other) => create(AdditionalAddressSchema, { address: udpAddress(other, port) })),
    filterChains: servers.map((server) => filterChain(q, http3Chain(q, server), name)),
    udpListenerConfig: create(UdpListenerConfigSchema, { quicOptions: {}, downstreamSocketConfig: {} }),
  });
  return resource(name, toBinary(ListenerSchema, listener));
}

function filterChain(q: QueryContext, { match, tls, http3, filters }: GatewayChain, listener: string): FilterChain {
  const envoyMatch = filterChainMatch(match);
  const timeout = handshakeTimeout(q);
  return create(FilterChainSchema, {
    ...(envoyMatch && { filterChainMatch: envoyMatch }),
    ...(tls && { transportSocket: http3 ? downstreamQuicSocket(tls) : downstreamTlsSocket(tls) }),
    ...(timeout && { transportSocketConnectTimeout: timeout }),
    filters: [...filters(listener)],
  });
}

function chainsOf(q: QueryContext, group: ServerGroup, sni: Map<number, SniHostRegistry>): readonly GatewayChain[] {
  if (isHttp(parseProtocol(group.protocol))) return [httpChain(q, group.protocol, group.routeName)];
  return group.servers.flatMap((server) =>
    isHttpsServerWithTlsTermination(server) ? [httpsChain(q, server)] : gatewayTcpChains(q, server, group.port, sni),
  );
}

function httpChain(q: QueryContext, protocol: string, routeName: string): GatewayChain {
  const manager = q.call(gatewayManager, { grpcWeb: parseProtocol(protocol) === "GRPC-Web" });
  return {
    match: {},
    filters: (listener) => [
      managerFilter(q, "gateway", manager, delimitedStatPrefix(`outbound_${listener}`), { rds: routeName }),
    ],
  };
}

function httpsChain(q: QueryContext, server: BoundServer): GatewayChain {
  const tls = tlsContextOf(q, server);
  return { ...(tls && { tls }), ...tlsServerChain(q, server, q.call(gatewayManager, { grpcWeb: false })) };
}

function http3Chain(q: QueryContext, server: BoundServer): GatewayChain {
  const tls = quicTlsContextOf(q, server);
  return {
    ...(tls && { tls }),
    http3: true,
    ...tlsServerChain(q, server, q.call(gatewayManager, { grpcWeb: false, http3: true })),
  };
}

/** The stat prefix is the server's name, if it has one. */
function tlsServerChain(
  q: QueryContext,
  server: BoundServer,
  manager: Uint8Array,
): Pick<GatewayChain, "match" | "filters"> {
  return {
    match: { sniHosts: server.sniHosts },
    filters: (listener) => [
      managerFilter(
        q,
        "gateway",
        manager,
        server.name !== "" ? server.name : delimitedStatPrefix(`outbound_${listener}`),
        { rds: server.routeName },
      ),
    ],
  };
}
