import { toBinary } from "@bufbuild/protobuf";
import { CidrRangeSchema } from "@istiod/envoy-api/envoy/config/core/v3/address";
import {
  FilterChainMatchSchema,
  FilterChainSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { UInt32ValueSchema } from "@bufbuild/protobuf/wkt";
import { query, type QueryContext } from "@istiod/incremental";
import { clientPeerModes, ingressListeners, modeOfPort, scopeOf, serviceTargets } from "@istiod/push-context";
import { afterTlsTermination, type Protocol } from "@istiod/service-discovery";
import { parseCidrRange } from "../../envoy/cidr.js";
import { encodeMessageField, encodeVarintField, encodeStringField, concatBytes } from "../../encoding/encode.js";
import {
  inboundClusterName,
  inboundPassthroughCluster,
  virtualInboundCatchAllHttpChain,
  virtualInboundListener,
} from "../../resource-names.js";
import { downstreamTlsSocket, type TlsPayload, meshTlsSocket } from "../../security/tls/downstream-tls.js";
import { serverTlsContext } from "../../security/tls/server-tls.js";
import { configMetadata } from "../../config-metadata.js";
import { encodeChain, type FilterChainTemplate } from "../filter-chain-template.js";
import { type InboundChain, inboundFilters } from "./inbound-filters.js";
import type { PortInspection } from "./inbound-listener-filters.js";
import { type InboundMatch, inboundMatches, userTlsMatch, hboneMatches } from "./inbound-matches.js";
import type { InboundPort } from "./inbound-ports.js";
import { listenerName } from "../listener-address.js";

/** A chain of an inbound listener, but for its tracing. */
export interface InboundChainTemplate extends FilterChainTemplate {
  /** What its match goes by. */
  readonly inspected: PortInspection;
}

/** The chains of one port, by mutual TLS and, where the protocol is not declared, by what it turns out to be. */
export function portChains(q: QueryContext, port: InboundPort): readonly InboundChainTemplate[] {
  const mode = modeOfPort(q.call(clientPeerModes), port.targetPort);
  const userTls = mode === "DISABLE" ? port.tls : undefined;
  const declared = port.servicePort.protocol;
  const protocol = userTls === undefined ? declared : afterTlsTermination(declared);
  const matches = userTls === undefined ? inboundMatches(q, mode, protocol) : [userTlsMatch(protocol)];
  const socket = userTls && encodeChain({ transportSocket: downstreamTlsSocket(serverTlsContext(q, userTls, "http")) });
  return declaredPortChains(q, port, { protocol, matches, socket, ...direct });
}

/** The chains of one port for connections that an HBONE tunnel carried. */
export function hbonePortChains(
  q: QueryContext,
  port: InboundPort,
  destinations: readonly string[],
): readonly InboundChainTemplate[] {
  const { protocol } = port.servicePort;
  const matches = hboneMatches(q, protocol, destinations);
  return declaredPortChains(q, port, { protocol, matches, socket: undefined, ...fromTunnel });
}

/** How filters learn who the peer is. */
type PeerDiscovery = Pick<InboundChain, "identity" | "exchangesPeerMetadata">;

const direct: PeerDiscovery = { identity: "certificate", exchangesPeerMetadata: true };
/** The end of the tunnel knows the peer, so that requests need not say it. */
const fromTunnel: PeerDiscovery = { identity: "filterState", exchangesPeerMetadata: false };

interface PortTraffic extends PeerDiscovery {
  readonly protocol: Protocol;
  readonly matches: readonly InboundMatch[];
  /** The transport socket by a user's own TLS settings; absent: the mesh's. */
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

/** For ports that no service and no Sidecar declares; policies of single ports among those have chains of their own. */
export const passthroughChains = query("inboundPassthroughChains", (q): readonly InboundChainTemplate[] => {
  const modes = q.call(clientPeerModes);
  const ports = Object.keys(modes.ports)
    .map(Number)
    .filter((port) => !isDeclared(q, port));
  return [0, ...ports.sort((a, b) => a - b)].flatMap((targetPort) =>
    undeclaredPortChains(
      q,
      targetPort,
      inboundMatches(q, modeOfPort(modes, targetPort), "UnsupportedProtocol"),
      direct,
    ),
  );
});

/** The chains for undeclared ports of connections that an HBONE tunnel carried; unlike at declared ports, requests exchange peers. */
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

/** A Sidecar with ingress listeners declares all that there is. */
function isDeclared(q: QueryContext, port: number): boolean {
  const ingress = q.call(ingressListeners, scopeOf(q));
  if (ingress.length > 0) return ingress.some((listener) => listener.port?.number === port);
  return q.ask(serviceTargets).some(({ targetPort }) => targetPort === port);
}

interface TemplateParts {
  readonly name: string;
  /** 0: any port. */
  readonly targetPort: number;
  readonly match: InboundMatch;
  readonly filters: FilterChainTemplate;
  /** Further encoded parts of the chain. */
  readonly more: readonly Uint8Array[];
  /** How TLS is ended, where a user says so; else it is the mesh's. */
  readonly socket?: Uint8Array | undefined;
}

function chainTemplate(
  q: QueryContext,
  { name, targetPort, match, filters, more, socket }: TemplateParts,
): InboundChainTemplate {
  const fields = FilterChainSchema.field;
  const parts = [
    encodeStringField(fields.name.number, name),
    encodeMessageField(fields.filterChainMatch.number, encodeMatch(match, targetPort)),
    filters.chain,
    ...more,
  ];
  if (match.terminatesTls) parts.push(socket ?? q.call(encodedMeshTlsSocket, match.payload));
  const http = match.applicationProtocols.some((protocol) => protocol === "http/1.1" || protocol === "h2c");
  const inspected = { port: targetPort, tls: match.transportProtocol === "tls", http };
  return { inspected, chain: concatBytes(parts), ...(filters.manager && { manager: filters.manager }) };
}

function encodeMatch(
  { applicationProtocols, transportProtocol, destinations = [] }: InboundMatch,
  targetPort: number,
): readonly Uint8Array[] {
  const fields = FilterChainMatchSchema.field;
  return [
    ...(targetPort > 0
      ? [
          encodeMessageField(fields.destinationPort.number, [
            encodeVarintField(UInt32ValueSchema.field.value.number, targetPort),
          ]),
        ]
      : []),
    ...destinations.flatMap((address) => {
      const range = parseCidrRange(address);
      return range === undefined
        ? []
        : [encodeMessageField(fields.prefixRanges.number, [toBinary(CidrRangeSchema, range)])];
    }),
    encodeStringField(fields.transportProtocol.number, transportProtocol),
    ...applicationProtocols.map((protocol) => encodeStringField(fields.applicationProtocols.number, protocol)),
  ];
}

const encodedMeshTlsSocket = query("encodedMeshTlsSocket", (q, inside: TlsPayload): Uint8Array =>
  encodeChain({ transportSocket: q.call(meshTlsSocket, inside) }),
);

/** Chains of one port differ in their matches: what is inside is made once. */
function memoizeByPayload<T>(make: (inside: TlsPayload) => T): (inside: TlsPayload) => T {
  const made = new Map<TlsPayload, T>();
  return (inside) => {
    const known = made.get(inside) ?? make(inside);
    made.set(inside, known);
    return known;
  };
}
