/**
 * Names of filters in Envoy's v2 API, with those that proxies have. Source: pkg/config/xds/deprecated.go, of which
 * Istio's validation warns; patches do not match by them.
 */
const canonicalNames: ReadonlyMap<string, string> = new Map([
  ...[
    ...["buffer", "cors", "csrf", "ext_authz", "fault", "grpc_http1_bridge", "grpc_json_transcoder", "grpc_web"],
    ...["gzip", "health_check", "ip_tagging", "lua", "router", "squash"],
  ].map((name): [string, string] => [`envoy.${name}`, `envoy.filters.http.${name}`]),
  ["envoy.http_dynamo_filter", "envoy.filters.http.dynamo"],
  ["envoy.rate_limit", "envoy.filters.http.ratelimit"],
  ...["http_inspector", "original_dst", "original_src", "proxy_protocol", "tls_inspector"].map(
    (name): [string, string] => [`envoy.listener.${name}`, `envoy.filters.listener.${name}`],
  ),
  ...["client_ssl_auth", "http_connection_manager", "mongo_proxy", "ratelimit", "redis_proxy", "tcp_proxy"].map(
    (name): [string, string] => [`envoy.${name}`, `envoy.filters.network.${name}`],
  ),
]);

/** Returns the name that proxies have for a filter; undefined if the given name is not one of Envoy's v2 API. */
export function canonicalFilterName(name: string): string | undefined {
  return canonicalNames.get(name);
}
