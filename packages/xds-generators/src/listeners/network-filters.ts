import type { JsonObject } from "@bufbuild/protobuf";
import { typedStruct } from "../envoy/typed-struct.js";
import { type Filter, networkFilter } from "./named-filter.js";

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
