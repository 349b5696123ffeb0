import type { JsonObject } from "@bufbuild/protobuf";
import { type Filter, networkFilter } from "../../envoy/filters.js";
import { typedStruct } from "../../envoy/typed-struct.js";

/** Learns of peers from the baggage in the response to CONNECT, and provides the client's own for the request. */
export const tunnelPeerMetadata = networkFilter(
  "upstream_hbone_peer_metadata",
  typedStruct("type.googleapis.com/envoy.extensions.network_filters.peer_metadata.Config", {
    baggage_key: "io.istio.baggage",
  }),
);

const metadataExchangeTypeUrl = "type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange";

/** Exchanges who peers are, ahead of the bytes of a connection in mutual TLS. */
export function metadataExchange(additionalLabels: readonly string[]): Filter {
  const config: JsonObject = {
    protocol: "istio-peer-exchange",
    enable_discovery: true,
    ...(additionalLabels.length > 0 && { additional_labels: [...additionalLabels] }),
  };
  return networkFilter("istio.metadata_exchange", typedStruct(metadataExchangeTypeUrl, config));
}
