import type { QueryContext } from "@istiod/incremental";
import { hasExtension } from "@istiod/push-context";

/** Extensions in Istio's build of Envoy that a stock build lacks, with the names under which a proxy may list them. */
const names = {
  alpn: ["istio.alpn", "envoy.filters.http.alpn"],
  stats: ["envoy.filters.http.istio_stats", "envoy.filters.network.istio_stats", "istio.stats"],
  peerMetadata: ["envoy.filters.http.peer_metadata", "istio.metadata_exchange"],
  metadataExchange: [
    "istio.metadata_exchange",
    "envoy.filters.network.metadata_exchange",
    "envoy.filters.network.upstream.metadata_exchange",
  ],
  /** Peer metadata in the baggage of HBONE tunnels. */
  tunnelPeerMetadata: ["envoy.filters.network.peer_metadata", "envoy.filters.network.upstream.peer_metadata"],
} as const;

type IstioExtension = keyof typeof names;

/**
 * Reports whether the client's Envoy has an extension. A proxy that lists no extensions is assumed to run Istio's
 * build.
 */
export function hasIstioExtension(q: QueryContext, extension: IstioExtension): boolean {
  return names[extension].some((name) => q.ask(hasExtension, name));
}
