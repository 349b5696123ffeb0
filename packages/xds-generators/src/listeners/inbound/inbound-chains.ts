import { query, type QueryContext } from "@istiod/incremental";
import type { Protocol } from "@istiod/service-discovery";
import { configMetadata } from "../../config-metadata.js";
import {
  inboundClusterName,
  inboundPassthroughCluster,
  virtualInboundCatchAllHttpChain,
  virtualInboundListener,
} from "../../resource-names.js";
import { downstreamTlsSocket, type TlsPayload } from "../../security/tls/downstream-tls.js";
import { serverTlsContext } from "../../security/tls/server-tls.js";
import { encodeChain } from "../filter-chain-template.js";
import { listenerName } from "../listener-address.js";
import { chainTemplate, type InboundChainTemplate } from "./inbound-chain-template.js";
import { type InboundChain, inboundFilters } from "./inbound-filters.js";
import { hboneMatches, type InboundMatch, portMatches, undeclaredMatches } from "./inbound-matches.js";
import type { InboundPort } from "./inbound-ports.js";

/** Returns the chains of one port, by mutual TLS mode and, if the protocol is undeclared, by detected protocol. */
export function portChains(q: QueryContext, port: InboundPort): readonly InboundChainTemplate[] {
  const { protocol, matches, userTls } = portMatches(q, port);
  const socket = userTls && encodeChain({ transportSocket: downstreamTlsSocket(serverTlsContext(q, userTls, "http")) });
  return declaredPortChains(q, port, { protocol, matches, socket, ...direct });
}

/** Returns the chains of one port for connections from HBONE tunnels. */
export function hbonePortChains(
  q: QueryContext,
  port: InboundPort,
  destinations: readonly string[],
): readonly InboundChainTemplate[] {
  const { protocol } = port.servicePort;
  const matches = hboneMatches(q, protocol, destinations);
  return declaredPortChains(q, port, { protocol, matches, socket: undefined, ...fromTunnel });
}

/** The way in which filters discover the peer. */
type PeerDiscovery = Pick<InboundChain, "identity" | "exchangesPeerMetadata">;

const direct: PeerDiscovery = { identity: "certificate", exchangesPeerMetadata: true };
/** The tunnel's end knows the peer, so Istio's proxies exchange no metadata. */
const fromTunnel: PeerDiscovery = { identity: "filterState", exchangesPeerMetadata: false };

interface PortTraffic extends PeerDiscovery {
  readonly protocol: Protocol;
  readonly matches: readonly InboundMatch[];
  /** The transport socket by a user's TLS settings; absent: the mesh's. */
  readonly socket: Uint8Array | undefined;
}

function declaredPortChains(
  q: QueryContext,
  port: InboundPort,
  { protocol, matches, socket, ...discovery }: PortTraffic,
): readonly InboundChainTemplate[] {
  const { targetPort, servicePort, binds, sidecar } = port;
  const name = listenerName(binds[0] ?? "", targetPort);
  const chain: InboundChain = {
    cluster: inboundClusterName(targetPort),
    statPrefix: `inbound_${name}`,
    targetPort,
    servicePort: { ...servicePort, protocol },
    hostname: port.hostname,
    ...(port.service === undefined ? {} : { service: port.service }),
    ...discovery,
  };
  const filtersOf = memoizeByPayload((inside) => inboundFilters(q, chain, inside));
  const metadata = sidecar === undefined ? [] : [encodeChain({ metadata: configMetadata("Sidecar", sidecar) })];
  return matches.map((match) =>
    chainTemplate(q, { name, targetPort, match, filters: filtersOf(match.payload), more: metadata, socket }),
  );
}

/**
 * The chains for ports that neither a service nor a Sidecar declares. Ports with a PeerAuthentication mode of their own
 * have separate chains.
 */
export const passthroughChains = query("inboundPassthroughChains", (q): readonly InboundChainTemplate[] => {
  return undeclaredMatches(q).flatMap(({ targetPort, matches }) =>
    undeclaredPortChains(q, targetPort, matches, direct),
  );
});

/**
 * Returns the chains for undeclared ports of connections from HBONE tunnels. Unlike at declared ports, requests
 * exchange peer metadata.
 */
export function hbonePassthroughChains(
  q: QueryContext,
  destinations: readonly string[],
): readonly InboundChainTemplate[] {
  const matches = hboneMatches(q, "UnsupportedProtocol", destinations);
  return undeclaredPortChains(q, 0, matches, { ...fromTunnel, exchangesPeerMetadata: true });
}

/** @param targetPort 0: all ports that no other chain matches */
function undeclaredPortChains(
  q: QueryContext,
  targetPort: number,
  matches: readonly InboundMatch[],
  discovery: PeerDiscovery,
): readonly InboundChainTemplate[] {
  const chain: InboundChain = {
    cluster: inboundPassthroughCluster,
    statPrefix: inboundPassthroughCluster,
    targetPort,
    servicePort: { name: virtualInboundListener, number: 0, protocol: "UnsupportedProtocol" },
    hostname: "",
    ...discovery,
  };
  const filtersOf = memoizeByPayload((inside) => inboundFilters(q, chain, inside));
  return matches.map((match) => {
    const name = match.payload === "http" ? virtualInboundCatchAllHttpChain : virtualInboundListener;
    return chainTemplate(q, { name, targetPort, match, filters: filtersOf(match.payload), more: [] });
  });
}

/** Caches a result per payload, because the chains of one port differ only in their matches. */
function memoizeByPayload<T>(compute: (inside: TlsPayload) => T): (inside: TlsPayload) => T {
  const cache = new Map<TlsPayload, T>();
  return (inside) => {
    const result = cache.get(inside) ?? compute(inside);
    cache.set(inside, result);
    return result;
  };
}
