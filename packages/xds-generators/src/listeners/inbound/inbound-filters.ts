import { query, type QueryContext } from "@istiod/incremental";
import { joinEncoded } from "@istiod/protobuf-wire";
import { type ChainExtensions, chainExtensions, features, mesh } from "@istiod/push-context";
import { isHttp2, service, type ServicePort } from "@istiod/service-discovery";
import { formatStatName } from "../../clusters/stat-name.js";
import type { Filter, HttpFilter } from "../../envoy/filters.js";
import { allExtensions, httpExtensionFilters, networkExtensionFilters } from "../../extensions/extension-filters.js";
import { hasIstioExtension } from "../../istio-extensions.js";
import { delimitedStatPrefix } from "../../resource-names.js";
import { inboundRouteConfiguration } from "../../routes/index.js";
import { httpAuthorization, tcpAuthorization } from "../../security/authorization/client-authorization.js";
import type { PeerIdentitySource } from "../../security/authorization/principal.js";
import { jwtFilters } from "../../security/jwt-filters.js";
import type { TlsPayload } from "../../security/tls/downstream-tls.js";
import { httpStatsFilters, tcpStatsFilters } from "../../telemetry/stats-filters.js";
import { encodeChain, type FilterChainTemplate } from "../filter-chain-template.js";
import { acceptsHttp10, encodeManager, withRoutes } from "../http/http-connection-manager.js";
import {
  cors,
  fault,
  grpcStats,
  grpcWeb,
  inboundPeerMetadata,
  router,
  routerWithoutDebugHeaders,
} from "../http/http-filters.js";
import { inboundPeerExchange } from "../http/peer-exchange.js";
import { proxyHeaders } from "../http/proxy-headers.js";
import { metadataExchange } from "../tcp/network-filters.js";
import { simpleTcpProxy, terminalFilters } from "../tcp/tcp-proxy.js";

/** The destination and the names of an inbound filter chain. */
export interface InboundChain {
  readonly cluster: string;
  readonly statPrefix: string;
  readonly targetPort: number;
  readonly servicePort: ServicePort;
  /** The service named in traces. */
  readonly hostname: string;
  /** Its id, for stat name patterns. */
  readonly service?: string;
  /** The source of the peer's identity. */
  readonly identity: PeerIdentitySource;
  /** True if requests exchange peer metadata. */
  readonly exchangesPeerMetadata: boolean;
}

/** Returns the filters of an inbound chain, without tracing. */
export function inboundFilters(q: QueryContext, chain: InboundChain, payload: TlsPayload): FilterChainTemplate {
  if (payload !== "http") return { chain: tcpFilters(q, chain) };
  return {
    chain: q.call(filtersBeforeManager, {
      exchanges: chain.exchangesPeerMetadata,
      extensions: extensionsOf(q, "network", chain.targetPort),
    }),
    manager: manager(q, chain),
  };
}

function extensionsOf(q: QueryContext, type: "http" | "network", port: number): ChainExtensions {
  return chainExtensions(q, { type, listener: "sidecar-inbound", port });
}

interface NetworkFilterOptions {
  /** True if connections exchange peer metadata. */
  readonly exchanges: boolean;
  readonly extensions: ChainExtensions;
}

/** The network filters of HTTP chains, encoded as part of a chain. */
const filtersBeforeManager = query(
  "inboundFiltersBeforeManager",
  (q, { exchanges, extensions }: NetworkFilterOptions): Uint8Array =>
    encodeChain({
      filters: [
        ...(exchanges ? inboundMetadataExchange(q) : []),
        ...networkExtensionFilters(allExtensions(extensions)),
      ],
    }),
);

/** Returns the metadata exchange filter for mutual TLS connections. It precedes all filters that depend on the peer. */
export function inboundMetadataExchange(q: QueryContext): readonly Filter[] {
  if (!features.metadataExchange(q) || !hasIstioExtension(q, "metadataExchange")) return [];
  return [metadataExchange(features.metadataExchangeAdditionalLabels(q))];
}

function manager(
  q: QueryContext,
  { cluster, statPrefix, targetPort, servicePort, hostname, identity, exchangesPeerMetadata }: InboundChain,
): Uint8Array {
  const { number, protocol } = servicePort;
  const common = q.call(inboundManager, {
    grpcWeb: protocol === "GRPC-Web",
    http2: isHttp2(protocol),
    identity,
    exchangesPeerMetadata: exchangesPeerMetadata,
    extensions: extensionsOf(q, "http", targetPort),
  });
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const routes = inboundRouteConfiguration(q, { cluster, port: number, protocol, operation: `${host}:${number}/*` });
  return withRoutes(common, delimitedStatPrefix(statPrefix), { inline: routes });
}

interface InboundManagerOptions {
  readonly grpcWeb: boolean;
  readonly http2: boolean;
  readonly identity: PeerIdentitySource;
  readonly exchangesPeerMetadata: boolean;
  readonly extensions: ChainExtensions;
}

/** The connection manager of inbound chains without its name and routes, encoded. */
const inboundManager = query("inboundManager", (q, options: InboundManagerOptions): Uint8Array => {
  const headers = proxyHeaders(q, "sidecar-inbound");
  const { certDetails } = headers;
  return encodeManager(q, {
    listener: "sidecar-inbound",
    identity: options.identity,
    useRemoteAddress: false,
    filters: inboundHttpFilters(q, options),
    settings: {
      forwardClientCertDetails: headers.forwardedClientCert,
      setCurrentClientCertDetails: {
        subject: certDetails?.subject ?? true,
        uri: certDetails?.uri ?? true,
        dns: certDetails?.dns ?? true,
        cert: certDetails?.cert ?? false,
        chain: certDetails?.chain ?? false,
      },
      serverName: headers.serverName,
      serverHeaderTransformation: headers.serverHeaderTransformation,
      ...(headers.generateRequestId === false && { generateRequestId: false }),
      ...(options.http2 && { http2ProtocolOptions: {} }),
      ...(acceptsHttp10(q) && { httpProtocolOptions: { acceptHttp10: true } }),
    },
  });
});

/**
 * Returns the HTTP filters, in the order of the request path. Source: pilot/pkg/networking/core/listener_builder.go,
 * buildHTTPConnectionManager.
 */
function inboundHttpFilters(
  q: QueryContext,
  { grpcWeb: web, identity, exchangesPeerMetadata, extensions }: InboundManagerOptions,
): readonly HttpFilter[] {
  const exchanges = exchangesPeerMetadata && features.metadataExchange(q) && hasIstioExtension(q, "peerMetadata");
  const authorization = q.call(httpAuthorization, identity);
  return [
    ...(exchanges ? [inboundPeerMetadata(features.metadataExchangeAdditionalLabels(q))] : []),
    ...(exchangesPeerMetadata || identity === "filterState" ? inboundPeerExchange(q) : []),
    ...authorization.custom,
    ...httpExtensionFilters(q, extensions.beforeAuthentication),
    ...q.call(jwtFilters),
    ...httpExtensionFilters(q, extensions.beforeAuthorization),
    ...authorization.local,
    ...httpExtensionFilters(q, extensions.afterAuthorization),
    ...(web ? [grpcWeb] : []),
    grpcStats,
    fault,
    cors,
    ...httpStatsFilters(q, "sidecar-inbound"),
    proxyHeaders(q, "sidecar-inbound").suppressDebugHeaders ? routerWithoutDebugHeaders : router,
  ];
}

function tcpFilters(q: QueryContext, chain: InboundChain): Uint8Array {
  const proxy = simpleTcpProxy(q, "sidecar-inbound", chain.cluster, {
    statPrefix: tcpStatPrefix(q, chain),
    identity: chain.identity,
  });
  return joinEncoded([
    q.call(commonTcpFilters, {
      identity: chain.identity,
      extensions: extensionsOf(q, "network", chain.servicePort.number),
    }),
    encodeChain({ filters: [...terminalFilters(q, proxy, chain.servicePort.protocol)] }),
  ]);
}

interface TcpFilterOptions {
  readonly identity: PeerIdentitySource;
  readonly extensions: ChainExtensions;
}

/** The network filters of TCP chains before those of the destination, encoded as part of a chain. */
const commonTcpFilters = query("inboundFiltersOfBytes", (q, { identity, extensions }: TcpFilterOptions): Uint8Array => {
  const { custom, local } = q.call(tcpAuthorization, identity);
  return encodeChain({
    filters: [
      ...inboundMetadataExchange(q),
      ...custom,
      ...networkExtensionFilters([...extensions.beforeAuthentication, ...extensions.beforeAuthorization]),
      ...local,
      ...networkExtensionFilters(extensions.afterAuthorization),
      ...tcpStatsFilters(q, "sidecar-inbound"),
    ],
  });
});

function tcpStatPrefix(q: QueryContext, { cluster, hostname, service: id, servicePort }: InboundChain): string {
  const pattern = mesh(q).inboundClusterStatName;
  if (pattern === "") return cluster;
  const found = id === undefined ? undefined : q.call(service, id);
  const named = found ?? { hostname, name: hostname, namespace: "", registry: "External" as const };
  // Envoy rejects a listener with an empty stat prefix.
  return formatStatName(pattern, { service: named, port: servicePort, targetPort: "unfilled" }) || cluster;
}
