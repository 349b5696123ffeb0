import type { JsonObject } from "@bufbuild/protobuf";
import { type Filter, networkFilter } from "../../envoy/filters.js";
import { typedStruct } from "../../envoy/typed-struct.js";

/** Reads peer metadata from the baggage in CONNECT responses, and provides the client's own for requests. */
export const tunnelPeerMetadata = networkFilter(
  "upstream_hbone_peer_metadata",
  typedStruct("type.googleapis.com/envoy.extensions.network_filters.peer_metadata.Config", {
    baggage_key: "io.istio.baggage",
  }),
);

const metadataExchangeTypeUrl = "type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange";

/** Exchanges peer metadata at the start of a mutual TLS connection. */
export function metadataExchange(additionalLabels: readonly string[]): Filter {
  const config: JsonObject = {
    protocol: "istio-peer-exchange",
    enable_discovery: true,
    ...(additionalLabels.length > 0 && { additional_labels: [...additionalLabels] }),
  };
  return networkFilter("istio.metadata_exchange", typedStruct(metadataExchangeTypeUrl, config));
}
