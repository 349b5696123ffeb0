import type { DownstreamTlsContext } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import type { QueryContext } from "@istiod/incremental";
import { type BoundServer, terminatesTcp } from "@istiod/push-context";
import type { Filter } from "../../envoy/filters.js";
import { serverTlsContext } from "../../security/tls/server-tls.js";
import type { ChainMatch } from "../filter-chain-match.js";

/** A chain of a gateway's listener. */
export interface GatewayChain {
  readonly match: ChainMatch;
  /** How it ends TLS. */
  readonly tls?: DownstreamTlsContext;
  /** TLS is that within QUIC. */
  readonly http3?: true;
  /** Its filters, once the listener's name is known. */
  readonly filters: (listener: string) => readonly Filter[];
}

/** How a server ends TLS; undefined where it has none. */
export function tlsContextOf(q: QueryContext, server: BoundServer): DownstreamTlsContext | undefined {
  return server.tls && serverTlsContext(q, server.tls, terminatesTcp(server) ? "tcp" : "http");
}

/** How a server ends the TLS within QUIC; undefined where it has none. */
export function quicTlsContextOf(q: QueryContext, server: BoundServer): DownstreamTlsContext | undefined {
  return server.tls && serverTlsContext(q, server.tls, "http3");
}
