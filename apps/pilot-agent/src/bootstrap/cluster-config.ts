import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { object, typed } from "./json.js";

/** Protocol options of an HTTP/2 cluster. */
export const http2Options = {
  "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": typed(
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
    {
      explicit_http_config: { http2_protocol_options: {} },
    },
  ),
};

/** Builds a cluster with one endpoint. A semicolon terminates its name in statistics, which the stats tags rely on. */
export function cluster(
  name: string,
  type: "STATIC" | "STRICT_DNS",
  address: JsonObject,
  connectTimeout: string,
): JsonObject {
  return {
    name,
    alt_stat_name: `${name};`,
    type,
    connect_timeout: connectTimeout,
    lb_policy: "ROUND_ROBIN",
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  };
}

/** Builds the cluster of a telemetry collector, which is resolved by DNS. */
export function collector(
  name: string,
  address: JsonObject,
  dnsLookupFamily: string,
  more: Readonly<Record<string, JsonValue | undefined>>,
): JsonObject {
  return object({
    ...cluster(name, "STRICT_DNS", address, "1s"),
    respect_dns_ttl: true,
    dns_lookup_family: dnsLookupFamily,
    ...more,
  });
}
