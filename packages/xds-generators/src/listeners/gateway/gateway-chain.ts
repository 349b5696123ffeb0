import type { DownstreamTlsContext } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import type { QueryContext } from "@istiod/incremental";
import { type BoundServer, isTcpServerWithTlsTermination } from "@istiod/push-context";
import type { Filter } from "../../envoy/filters.js";
import { serverTlsContext } from "../../security/tls/server-tls.js";
import type { ChainMatch } from "../filter-chain-match.js";
import type { ChainSource } from "../listener-conflicts.js";

/** A filter chain of a gateway's listener. */
export interface GatewayChain {
  readonly match: ChainMatch;
  /** The servers, or the route, that the chain is built for. */
  readonly sources: readonly ChainSource[];
  /** Absent: plaintext, or TLS that is not terminated. */
  readonly tls?: DownstreamTlsContext;
  /** True if TLS is terminated within QUIC. */
  readonly http3?: true;
  /** Returns the filters for a listener name. */
  readonly filters: (listener: string) => readonly Filter[];
}

export function serverSource({ gateway, index }: BoundServer): ChainSource {
  return { kind: "server", gateway, index };
}

/** Returns the TLS context of a server; undefined if it does not terminate TLS. */
export function tlsContextOf(q: QueryContext, server: BoundServer): DownstreamTlsContext | undefined {
  return server.tls && serverTlsContext(q, server.tls, isTcpServerWithTlsTermination(server) ? "tcp" : "http");
}

/** Returns the QUIC TLS context of a server; undefined if it does not terminate TLS. */
export function quicTlsContextOf(q: QueryContext, server: BoundServer): DownstreamTlsContext | undefined {
  return server.tls && serverTlsContext(q, server.tls, "http3");
}
