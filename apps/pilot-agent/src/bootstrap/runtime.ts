import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";

/** Istio's default runtime values, which the proxy configuration can override. */
const DEFAULTS: Readonly<Record<string, JsonValue>> = {
  "re2.max_program_size.error_level": "32768",
  "envoy.deprecated_features:envoy.config.listener.v3.Listener.hidden_envoy_deprecated_use_original_dst": true,
  "envoy.reloadable_features.http_reject_path_with_fragment": false,
  "envoy.reloadable_features.fixed_heap_use_allocated": true,
  "envoy.reloadable_features.coalesce_lb_rebuilds_on_batch_update": false,
};

/** Builds the static runtime layer. An empty value in the proxy configuration removes a default. */
export function runtimeLayer(config: ProxyConfig, compliancePolicy: string | undefined): JsonObject {
  const layer: Record<string, JsonValue> = { ...DEFAULTS };
  if (compliancePolicy === "fips-140-2") layer["envoy.reloadable_features.google_grpc_disable_tls_13"] = true;
  for (const [key, value] of Object.entries(config.runtimeValues)) {
    if (value === "") delete layer[key];
    else layer[key] = value === "true" ? true : value === "false" ? false : value;
  }
  return layer;
}

const UNLIMITED = 2 ** 31 - 1;

/**
 * Returns the limit of downstream connections: from the connection settings, else the proxy metadata, else the
 * deprecated runtime value. Default: unlimited.
 */
export function connectionLimit(config: ProxyConfig): number {
  const setting = config.connectionSettings?.globalDownstreamConnectionLimit;
  if (setting !== undefined && setting > 0) return setting;
  for (const text of [
    config.proxyMetadata["ISTIO_META_GLOBAL_DOWNSTREAM_MAX_CONNECTIONS"],
    config.runtimeValues["overload.global_downstream_max_connections"],
  ]) {
    if (text !== undefined && /^[+-]?\d+$/.test(text)) return Number(text);
  }
  return UNLIMITED;
}
