import { create, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection, type TransportSocket } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { type FilterChain, FilterChainSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { query, type QueryContext } from "@istiod/incremental";
import {
  askMetadata,
  clientPeerModes,
  features,
  ingressListeners,
  interceptionMode,
  ipMode,
  mesh,
  modeOfPort,
  scopeOf,
  serviceTargets,
} from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { afterTlsTermination } from "@istiod/service-discovery";
import { address } from "../envoy/address.js";
import { inboundClusterName, inboundPassthroughCluster, virtualInboundBlackHoleChain, virtualInboundCatchAllHttpChain, virtualInboundListener } from "../resource-names.js";
import { downstreamTlsSocket, meshTlsSocket } from "../security/downstream-tls.js";
import { serverTlsContext } from "../security/server-tls.js";
import { accessLogs } from "../telemetry/access-log.js";
import { tcpStatsFilters } from "../telemetry/stats-filters.js";
import { configMetadata } from "./config-metadata.js";
import { acceptedAtOnce, exactBalance } from "./downstream-connections.js";
import { type InboundChain, inboundFilters, inboundMetadataExchange } from "./inbound-filters.js";
import { type InboundMatch, inboundMatches, terminatedMatch } from "./inbound-matches.js";
import { type InboundPort, inboundPorts } from "./inbound-plan.js";
import { additionalAddresses, listenerName, wildcards } from "./listener-address.js";
import { inboundListenerFilters } from "./inbound-inspectors.js";
import { blackHoleChain } from "./virtual-outbound.js";

/** The listeners for what the client's workload receives. Source: pilot/pkg/networking/core/listener_inbound.go. */
export const inboundListeners = query("inboundListeners", (q): readonly Resource[] => {
  const ports = q.call(inboundPorts);
  const bound = ports.filter(({ bindToPort }) => bindToPort).map((port) => q.call(boundListener, port));
  return q.ask(interceptionMode) === "NONE" ? bound : [q.call(virtualInbound), ...bound];
});

/** The listener that captured inbound connections arrive at, with chains for each port and for all others. */
const virtualInbound = query("virtualInbound", (q): Resource => {
  const port = mesh(q).proxyInboundListenPort;
  const ports = q.call(inboundPorts).filter(({ bindToPort }) => !bindToPort);
  const blackHole = blackHoleChain(virtualInboundBlackHoleChain, port, [...inboundMetadataExchange(q), ...tcpStatsFilters(q, "sidecar-inbound")]);
  const chains = [blackHole, ...passthroughChains(q), ...ports.flatMap((each) => portChains(q, each))];
  return inboundListener(q, virtualInboundListener, wildcards[q.ask(ipMode)], port, false, chains);
});

const boundListener = query(
  "boundInboundListener",
  (q, port: InboundPort): Resource =>
    inboundListener(q, listenerName(port.binds[0] ?? "", port.targetPort), port.binds, port.targetPort, true, portChains(q, port)),
  { key: ({ targetPort, binds }) => `${targetPort} ${binds.join()}` },
);

function inboundListener(q: QueryContext, name: string, binds: readonly string[], port: number, bindToPort: boolean, chains: FilterChain[]): Resource {
  const [bind = "", ...others] = binds;
  const limit = acceptedAtOnce(q);
  const transparent = !bindToPort && q.ask(interceptionMode) === "TPROXY";
  const { protocolDetectionTimeout } = mesh(q);
  const listener = create(ListenerSchema, {
    name,
    address: address(bind, port),
    additionalAddresses: features.dualStack(q) ? additionalAddresses(others, port) : [],
    trafficDirection: TrafficDirection.INBOUND,
    continueOnListenerFiltersTimeout: true,
    ...(limit !== undefined && { maxConnectionsToAcceptPerSocketEvent: limit }),
    ...(askMetadata(q, "INBOUND_LISTENER_EXACT_BALANCE") === true && { connectionBalanceConfig: exactBalance }),
    ...(transparent && { transparent: true }),
    accessLog: [...accessLogs(q, "sidecar-inbound", "listener")],
    filterChains: chains,
    listenerFilters: [...inboundListenerFilters(chains, { originalDestination: !bindToPort, originalSource: transparent })],
    ...(protocolDetectionTimeout && { listenerFiltersTimeout: protocolDetectionTimeout }),
  });
  return resource(name, toBinary(ListenerSchema, listener));
}

/** The chains of one port, by mutual TLS and, where the protocol is not declared, by what it turns out to be. */
function portChains(q: QueryContext, port: InboundPort): FilterChain[] {
  const { targetPort, servicePort, binds, sidecar } = port;
  const name = listenerName(binds[0] ?? "", targetPort);
  const mode = modeOfPort(q.call(clientPeerModes), targetPort);
  const userTls = mode === "DISABLE" ? port.tls : undefined;
  const protocol = userTls === undefined ? servicePort.protocol : afterTlsTermination(servicePort.protocol);
  const chain: InboundChain = {
    cluster: inboundClusterName(targetPort),
    statPrefix: `inbound_${name}`,
    targetPort,
    servicePort: { ...servicePort, protocol },
    hostname: port.hostname,
    ...(port.service === undefined ? {} : { service: port.service }),
  };
  const matches = userTls === undefined ? inboundMatches(q, mode, protocol) : [terminatedMatch(protocol)];
  const socket = userTls === undefined ? undefined : downstreamTlsSocket(serverTlsContext(q, userTls, "http"));
  const metadata = sidecar === undefined ? undefined : configMetadata("Sidecar", sidecar);
  return matches.map((match) => {
    const out = filterChain(q, chain, match, name, socket);
    if (metadata !== undefined) out.metadata = metadata;
    return out;
  });
}

/** For ports that no service and no Sidecar declares; policies of single ports among those have chains of their own. */
function passthroughChains(q: QueryContext): FilterChain[] {
  const modes = q.call(clientPeerModes);
  const ports = Object.keys(modes.ports).map(Number).filter((port) => !isDeclared(q, port));
  return [0, ...ports.sort((a, b) => a - b)].flatMap((targetPort) => {
    const chain: InboundChain = {
      cluster: inboundPassthroughCluster,
      statPrefix: inboundPassthroughCluster,
      targetPort,
      servicePort: { name: virtualInboundListener, number: 0, protocol: "UnsupportedProtocol" },
      hostname: "",
    };
    return inboundMatches(q, modeOfPort(modes, targetPort), "UnsupportedProtocol").map((match) =>
      filterChain(q, chain, match, match.inside === "http" ? virtualInboundCatchAllHttpChain : virtualInboundListener),
    );
  });
}

/** A Sidecar with ingress listeners declares all that there is. */
function isDeclared(q: QueryContext, port: number): boolean {
  const ingress = q.call(ingressListeners, scopeOf(q));
  if (ingress.length > 0) return ingress.some((listener) => listener.port?.number === port);
  return q.ask(serviceTargets).some(({ targetPort }) => targetPort === port);
}

function filterChain(q: QueryContext, chain: InboundChain, match: InboundMatch, name: string, userTls?: TransportSocket): FilterChain {
  return create(FilterChainSchema, {
    name,
    filterChainMatch: {
      applicationProtocols: [...match.applicationProtocols],
      transportProtocol: match.transportProtocol,
      ...(chain.targetPort > 0 && { destinationPort: chain.targetPort }),
    },
    filters: [...inboundFilters(q, chain, match.inside)],
    ...(match.endsTls && { transportSocket: userTls ?? q.call(meshTlsSocket, match.inside) }),
  });
}

