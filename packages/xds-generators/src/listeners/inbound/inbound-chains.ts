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
import { cidrRange } from "../../envoy/cidr.js";
import { encodedField, encodedNumber, encodedText, joinEncoded } from "../../encoding/encode.js";
import {
  inboundClusterName,
  inboundPassthroughCluster,
  virtualInboundCatchAllHttpChain,
  virtualInboundListener,
} from "../../resource-names.js";
import { downstreamTlsSocket, type InsideTls, meshTlsSocket } from "../../security/tls/downstream-tls.js";
import { serverTlsContext } from "../../security/tls/server-tls.js";
import { configMetadata } from "../../config-metadata.js";
import { encodedChain, type FilterChainTemplate } from "../filter-chain-template.js";
import { type InboundChain, inboundFilters } from "./inbound-filters.js";
import type { InspectedPort } from "./inbound-listener-filters.js";
import { type InboundMatch, inboundMatches, terminatedMatch, tunnelledMatches } from "./inbound-matches.js";
import type { InboundPort } from "./inbound-ports.js";
import { listenerName } from "../listener-address.js";

/** A chain of an inbound listener, but for its tracing. */
export interface InboundChainTemplate extends FilterChainTemplate {
  /** What its match goes by. */
  readonly inspected: InspectedPort;
}

/** The chains of one port, by mutual TLS and, where the protocol is not declared, by what it turns out to be. */
export function portChains(q: QueryContext, port: InboundPort): readonly InboundChainTemplate[] {
  const mode = modeOfPort(q.call(clientPeerModes), port.targetPort);
  const userTls = mode === "DISABLE" ? port.tls : undefined;
  const declared = port.servicePort.protocol;
  const protocol = userTls === undefined ? declared : afterTlsTermination(declared);
  const matches = userTls === undefined ? inboundMatches(q, mode, protocol) : [terminatedMatch(protocol)];
  const socket =
    userTls && encodedChain({ transportSocket: downstreamTlsSocket(serverTlsContext(q, userTls, "http")) });
  return chainsOfPort(q, port, { protocol, matches, socket, ...direct });
}

/** The chains of one port for connections that an HBONE tunnel carried. */
export function tunnelledPortChains(
  q: QueryContext,
  port: InboundPort,
  destinations: readonly string[],
): readonly InboundChainTemplate[] {
  const { protocol } = port.servicePort;
  const matches = tunnelledMatches(q, protocol, destinations);
  return chainsOfPort(q, port, { protocol, matches, socket: undefined, ...tunnelled });
}

/** How filters learn who the peer is. */
type PeerDiscovery = Pick<InboundChain, "identity" | "requestsExchangePeers">;

const direct: PeerDiscovery = { identity: "certificate", requestsExchangePeers: true };
/** The end of the tunnel knows the peer, so that requests need not say it. */
const tunnelled: PeerDiscovery = { identity: "filterState", requestsExchangePeers: false };

interface PortTraffic extends PeerDiscovery {
  readonly protocol: Protocol;
  readonly matches: readonly InboundMatch[];
  /** The transport socket by a user's own TLS settings; absent: the mesh's. */
  readonly socket: Uint8Array | undefined;
}

function chainsOfPort(
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
  const filtersOf = onceEach((inside) => inboundFilters(q, chain, inside));
  const metadata = sidecar === undefined ? [] : [encodedChain({ metadata: configMetadata("Sidecar", sidecar) })];
  return matches.map((match) =>
    template(q, { name, targetPort, match, filters: filtersOf(match.inside), more: metadata, socket }),
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
export function tunnelledPassthroughChains(
  q: QueryContext,
  destinations: readonly string[],
): readonly InboundChainTemplate[] {
  const matches = tunnelledMatches(q, "UnsupportedProtocol", destinations);
  return undeclaredPortChains(q, 0, matches, { ...tunnelled, requestsExchangePeers: true });
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
  const filtersOf = onceEach((inside) => inboundFilters(q, chain, inside));
  return matches.map((match) => {
    const name = match.inside === "http" ? virtualInboundCatchAllHttpChain : virtualInboundListener;
    return template(q, { name, targetPort, match, filters: filtersOf(match.inside), more: [] });
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

function template(
  q: QueryContext,
  { name, targetPort, match, filters, more, socket }: TemplateParts,
): InboundChainTemplate {
  const fields = FilterChainSchema.field;
  const parts = [
    encodedText(fields.name.number, name),
    encodedField(fields.filterChainMatch.number, encodedMatch(match, targetPort)),
    filters.chain,
    ...more,
  ];
  if (match.endsTls) parts.push(socket ?? q.call(encodedMeshTls, match.inside));
  const http = match.applicationProtocols.some((protocol) => protocol === "http/1.1" || protocol === "h2c");
  const inspected = { port: targetPort, tls: match.transportProtocol === "tls", http };
  return { inspected, chain: joinEncoded(parts), ...(filters.manager && { manager: filters.manager }) };
}

function encodedMatch(
  { applicationProtocols, transportProtocol, destinations = [] }: InboundMatch,
  targetPort: number,
): readonly Uint8Array[] {
  const fields = FilterChainMatchSchema.field;
  return [
    ...(targetPort > 0
      ? [encodedField(fields.destinationPort.number, [encodedNumber(UInt32ValueSchema.field.value.number, targetPort)])]
      : []),
    ...destinations.flatMap((address) => {
      const range = cidrRange(address);
      return range === undefined ? [] : [encodedField(fields.prefixRanges.number, [toBinary(CidrRangeSchema, range)])];
    }),
    encodedText(fields.transportProtocol.number, transportProtocol),
    ...applicationProtocols.map((protocol) => encodedText(fields.applicationProtocols.number, protocol)),
  ];
}

const encodedMeshTls = query("encodedMeshTlsSocket", (q, inside: InsideTls): Uint8Array =>
  encodedChain({ transportSocket: q.call(meshTlsSocket, inside) }),
);

/** Chains of one port differ in their matches: what is inside is made once. */
function onceEach<T>(make: (inside: InsideTls) => T): (inside: InsideTls) => T {
  const made = new Map<InsideTls, T>();
  return (inside) => {
    const known = made.get(inside) ?? make(inside);
    made.set(inside, known);
    return known;
  };
}
