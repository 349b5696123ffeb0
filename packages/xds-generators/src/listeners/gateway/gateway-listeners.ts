import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { AdditionalAddressSchema, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { type FilterChain, FilterChainSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { UdpListenerConfigSchema } from "@istiod/envoy-api/envoy/config/listener/v3/udp_listener_config";
import { query, type QueryContext } from "@istiod/incremental";
import {
  askMetadata,
  type BoundServer,
  chainExtensions,
  features,
  ipMode,
  mergedGateway,
  proxyConfig,
  type ServerGroup,
  serverKey,
  isHttpsServerWithTlsTermination,
  isUnprivileged,
} from "@istiod/push-context";
import { type Resource, resource, ResourceSet } from "@istiod/resources";
import { isHttp, parseProtocol } from "@istiod/service-discovery";
import { resourcesOf } from "../../attempt.js";
import { failedGatewayResources, failedServiceListeners } from "../../failed-services.js";
import { address, udpAddress } from "../../envoy/address.js";
import type { Filter } from "../../envoy/filters.js";
import { allExtensions, networkExtensionFilters } from "../../extensions/extension-filters.js";
import { delimitedStatPrefix } from "../../resource-names.js";
import { downstreamQuicSocket, downstreamTlsSocket } from "../../security/tls/downstream-tls.js";
import { accessLogs } from "../../telemetry/access-log.js";
import { exactBalance, handshakeTimeout, maxConnectionsPerSocketEvent } from "../connection-limits.js";
import { ClaimedMatches, filterChainMatch, supportedMatch } from "../filter-chain-match.js";
import { connectionSettings, nonNegative } from "../http/connection-settings.js";
import { managerFilter } from "../http/http-connection-manager.js";
import { additionalAddresses, canonicalAddress, listenerName, wildcards } from "../listener-address.js";
import { type ChainSource, ConflictRecorder, type ListenerConflict } from "../listener-conflicts.js";
import { proxyProtocol, tlsInspector } from "../listener-filters.js";
import { type GatewayChain, quicTlsContextOf, serverSource, tlsContextOf } from "./gateway-chain.js";
import { gatewayManager } from "./gateway-connection-manager.js";
import { gatewayTcpChains } from "./gateway-tcp-chains.js";
import type { SniHostRegistry } from "./sni-host-registry.js";

/**
 * The listeners of a gateway: one for each port and bind of its Gateways, and another one for HTTP/3 where it is
 * served. Source: pilot/pkg/networking/core/gateway.go.
 */
export const gatewayListeners = query("gatewayListeners", (q): ResourceSet => {
  const sni = new Map<number, SniHostRegistry>();
  const { sockets } = socketsOf(q);
  const all = sockets.flatMap((socket) => [
    { socket, name: socket.name, build: () => gatewayListener(q, socket, sni) },
    { socket, name: http3Name(socket), build: () => http3Listener(q, socket) },
  ]);
  const listeners = resourcesOf(
    all,
    ({ build }) => build(),
    ({ name, socket: { groups } }) => ({ name, objects: gatewaysOf(groups) }),
  );
  return ResourceSet.union([listeners, q.call(failedServiceListeners), q.call(failedGatewayResources)]);
});

function gatewaysOf(groups: readonly ServerGroup[]): readonly string[] {
  const servers = groups.flatMap((group) => group.servers);
  return [...new Set(servers.map(({ gateway }) => `Gateway ${gateway}`))];
}

/** Conflicts at a gateway's listeners, with the listener's name. */
export const allGatewayConflicts = query(
  "allGatewayConflicts",
  (q): readonly { readonly name: string; readonly conflict: ListenerConflict }[] => {
    const sni = new Map<number, SniHostRegistry>();
    const { sockets, conflicts } = socketsOf(q);
    return [
      ...conflicts,
      ...sockets.flatMap((socket) => {
        const recorder = new ConflictRecorder();
        distinctChains(chainsOf(q, socket, sni, recorder), socket, recorder);
        distinctChains(http3Chains(q, socket), socket, recorder);
        return recorder.conflicts.map((conflict) => ({ name: socket.name, conflict }));
      }),
    ];
  },
);

/**
 * Servers and routes of VirtualServices that are ignored at a gateway's listener because another one matches the same
 * connections, or because Envoy would reject the listener.
 */
export const gatewayListenerConflicts = query(
  "gatewayListenerConflicts",
  (q, name: string): readonly ListenerConflict[] =>
    q.call(allGatewayConflicts).flatMap((found) => (found.name === name ? [found.conflict] : [])),
);

/** The address and port of a listener, with its servers. */
interface GatewaySocket {
  readonly name: string;
  readonly binds: readonly string[];
  readonly port: number;
  readonly groups: ServerGroup[];
}

interface GatewaySockets {
  readonly sockets: readonly GatewaySocket[];
  /** Servers whose address is that of another listener, with its name. */
  readonly conflicts: readonly { readonly name: string; readonly conflict: ListenerConflict }[];
}

/** Groups servers by listener. Envoy rejects a listener with an address of another one, so the first keeps it. */
function socketsOf(q: QueryContext): GatewaySockets {
  const byName = new Map<string, GatewaySocket>();
  const byAddress = new Map<string, GatewaySocket>();
  const conflicts: { readonly name: string; readonly conflict: ListenerConflict }[] = [];
  for (const group of q.call(mergedGateway)?.groups ?? []) {
    const { port } = group;
    if (port < 1024 && q.ask(isUnprivileged)) continue;
    const binds = bindsOf(q, group);
    const name = listenerName(binds[0] ?? "", port);
    const listener = byName.get(name);
    if (listener !== undefined) {
      listener.groups.push(group);
      continue;
    }
    const addresses = binds.map((bind) => listenerName(canonicalAddress(bind), port));
    const other = addresses.map((taken) => byAddress.get(taken)).find((found) => found !== undefined);
    if (other === undefined) {
      const socket = { name, binds, port, groups: [group] };
      byName.set(name, socket);
      for (const each of addresses) byAddress.set(each, socket);
      continue;
    }
    const recorder = new ConflictRecorder();
    for (const server of group.servers)
      recorder.recordConflict(binds[0] ?? "", serverSource(server), firstSource(other), `both bind ${name}`);
    conflicts.push(...recorder.conflicts.map((conflict) => ({ name: other.name, conflict })));
  }
  return { sockets: [...byName.values()], conflicts };
}

function firstSource({ groups: [group] }: GatewaySocket): ChainSource | undefined {
  const [server] = group?.servers ?? [];
  return server && serverSource(server);
}

function bindsOf(q: QueryContext, { bind }: ServerGroup): readonly string[] {
  if (bind !== "") return [bind];
  const all = wildcards[q.ask(ipMode)];
  return features.dualStack(q) ? all : [all[0]];
}

function gatewayListener(
  q: QueryContext,
  socket: GatewaySocket,
  sni: Map<number, SniHostRegistry>,
): Resource | undefined {
  const { name, binds, port } = socket;
  const chains = distinctChains(chainsOf(q, socket, sni), socket);
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

function http3Name({ binds: [bind = ""], port }: GatewaySocket): string {
  return `udp_${listenerName(bind, port)}`;
}

/** Returns the UDP listener for the servers of a port with HTTP/3; undefined if there is none. */
function http3Listener(q: QueryContext, socket: GatewaySocket): Resource | undefined {
  const { binds, port } = socket;
  const chains = distinctChains(http3Chains(q, socket), socket);
  if (chains.length === 0) return undefined;
  const [bind = "", ...others] = binds;
  const name = http3Name(socket);
  const listener = create(ListenerSchema, {
    ...commonListenerFields(q, name),
    address: udpAddress(bind, port),
    additionalAddresses: others.map((other) => create(AdditionalAddressSchema, { address: udpAddress(other, port) })),
    filterChains: chains.map((chain) => filterChain(q, chain, name)),
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

/** A chain with the place of its server in the order of merging. */
interface RankedChain {
  readonly chain: GatewayChain;
  readonly rank: number;
}

/**
 * Returns the chains in the order of the groups. They are built in the order of their servers, since the first server
 * with an SNI keeps it: servers of another protocol have a group of their own, which may come later although it has an
 * older server.
 */
function chainsOf(
  q: QueryContext,
  { groups }: GatewaySocket,
  sni: Map<number, SniHostRegistry>,
  recorder?: ConflictRecorder,
): readonly RankedChain[] {
  const rankOf = ranks(q);
  const steps = groups.flatMap((group): readonly ChainStep[] => {
    if (isHttp(parseProtocol(group.protocol)))
      return [{ rank: rankOf(group.servers[0]), build: () => [httpChain(q, group)] }];
    return group.servers.map((server) => ({
      rank: rankOf(server),
      build: () =>
        isHttpsServerWithTlsTermination(server)
          ? [httpsChain(q, server, group.port)]
          : gatewayTcpChains(q, server, group.port, sni, recorder),
    }));
  });
  const built = new Map(steps.toSorted(byRank).map((step) => [step, step.build()] as const));
  return steps.flatMap((step) => (built.get(step) ?? []).map((chain) => ({ chain, rank: step.rank })));
}

/** Builds the chains of a server, or of a group that has one chain. */
interface ChainStep {
  readonly rank: number;
  readonly build: () => readonly GatewayChain[];
}

const byRank = (a: { readonly rank: number }, b: { readonly rank: number }): number => a.rank - b.rank;

/** Returns a function for the place of a server in the order of merging. */
function ranks(q: QueryContext): (server: BoundServer | undefined) => number {
  const places = new Map((q.call(mergedGateway)?.order ?? []).map((key, place) => [key, place] as const));
  return (server) => (server === undefined ? 0 : (places.get(serverKey(server)) ?? 0));
}

function http3Chains(q: QueryContext, { groups }: GatewaySocket): readonly RankedChain[] {
  const rankOf = ranks(q);
  return groups.flatMap(({ servers, port }) =>
    servers
      .filter(({ http3 }) => http3)
      .map((server) => ({ chain: http3Chain(q, server, port), rank: rankOf(server) })),
  );
}

/**
 * Returns the chains without SNI hosts of a server that was merged earlier, and without those that Envoy does not
 * support: it would reject the listener. A chain that would match nothing is left out.
 */
function distinctChains(
  chains: readonly RankedChain[],
  { binds: [bind = ""], port }: GatewaySocket,
  recorder?: ConflictRecorder,
): readonly GatewayChain[] {
  const matches = new ClaimedMatches<GatewayChain>();
  const kept = new Map<GatewayChain, GatewayChain>();
  for (const { chain } of chains.toSorted(byRank)) {
    const { match, unsupported } = supportedMatch(chain.match);
    for (const source of chain.sources) recorder?.recordUnsupported(bind, source, unsupported);
    if (match === undefined) continue;
    const claim = matches.claim(match, chain);
    for (const { owner, values } of claim.lost)
      for (const source of chain.sources) recorder?.recordSameMatch({ bind, port, values }, source, owner.sources[0]);
    if (claim.match !== undefined) kept.set(chain, { ...chain, match: claim.match });
  }
  return chains.flatMap(({ chain }) => kept.get(chain) ?? []);
}

function httpChain(q: QueryContext, { port, protocol, routeName, servers }: ServerGroup): GatewayChain {
  const extensions = chainExtensions(q, { type: "http", listener: "gateway", port });
  const manager = q.call(gatewayManager, { grpcWeb: parseProtocol(protocol) === "GRPC-Web", extensions });
  const before = filtersBeforeManager(q, port);
  return {
    match: {},
    sources: servers.map(serverSource),
    filters: (listener) => [
      ...before,
      managerFilter(q, "gateway", manager, delimitedStatPrefix(`outbound_${listener}`), { rds: routeName }),
    ],
  };
}

/** Returns the network filters of HTTP chains. */
function filtersBeforeManager(q: QueryContext, port: number): readonly Filter[] {
  return networkExtensionFilters(allExtensions(chainExtensions(q, { type: "network", listener: "gateway", port })));
}

function httpsChain(q: QueryContext, server: BoundServer, port: number): GatewayChain {
  const tls = tlsContextOf(q, server);
  const extensions = chainExtensions(q, { type: "http", listener: "gateway", port });
  const manager = q.call(gatewayManager, { grpcWeb: false, extensions });
  return { ...(tls && { tls }), ...tlsServerChain(q, server, manager, filtersBeforeManager(q, port)) };
}

/** Connections over QUIC have no network filters. */
function http3Chain(q: QueryContext, server: BoundServer, port: number): GatewayChain {
  const tls = quicTlsContextOf(q, server);
  const extensions = chainExtensions(q, { type: "http", listener: "gateway", port });
  const manager = q.call(gatewayManager, { grpcWeb: false, http3: true, extensions });
  return { ...(tls && { tls }), http3: true, ...tlsServerChain(q, server, manager, []) };
}

/** The stat prefix is the server's name, if it has one. */
function tlsServerChain(
  q: QueryContext,
  server: BoundServer,
  manager: Uint8Array,
  before: readonly Filter[],
): Pick<GatewayChain, "match" | "sources" | "filters"> {
  return {
    match: { sniHosts: server.sniHosts },
    sources: [serverSource(server)],
    filters: (listener) => [
      ...before,
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
