import type { QueryContext } from "@istiod/incremental";
import { features, hasExtension } from "@istiod/push-context";

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

/** An extension of every build of Envoy since 1.30. */
const setFilterState = "envoy.filters.http.set_filter_state";

/** Means by which a proxy tells its peer that a connection carries HTTP: a filter of Istio's build, or a stock one. */
export type HttpAnnouncement = "alpn-filter" | "filter-state" | "none";

/** Returns how the client announces HTTP to mesh peers, which otherwise treat it as opaque TCP at undeclared ports. */
export function httpAnnouncement(q: QueryContext): HttpAnnouncement {
  if (!features.alpnFilter(q)) return "none";
  if (hasIstioExtension(q, "alpn")) return "alpn-filter";
  return q.ask(hasExtension, setFilterState) ? "filter-state" : "none";
}
