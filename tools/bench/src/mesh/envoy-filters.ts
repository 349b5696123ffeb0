import { istioObject, type KubernetesObject, rootNamespace } from "./objects.js";

const extension = (name: string, fields: object = {}): object => ({
  "@type": `type.googleapis.com/envoy.extensions.${name}`,
  ...fields,
});
const managerName = "envoy.filters.network.http_connection_manager";
const inManager = { listener: { filterChain: { filter: { name: managerName } } } };
const beforeRouter = {
  listener: { filterChain: { filter: { name: managerName, subFilter: { name: "envoy.filters.http.router" } } } },
};
const manager = (fields: object): object => ({
  name: managerName,
  typed_config: extension("filters.network.http_connection_manager.v3.HttpConnectionManager", fields),
});
const patch = (applyTo: string, match: object, operation: string, value: object): object => ({
  applyTo,
  match,
  patch: { operation, value },
});
const filterIn = (context: string, name: string, type: string, fields: object = {}): object =>
  patch("HTTP_FILTER", { context, ...beforeRouter }, "INSERT_BEFORE", {
    name,
    typed_config: extension(`filters.http.${type}`, fields),
  });
const lua = (context: string, name: string): object =>
  filterIn(context, name, "lua.v3.Lua", {
    default_source_code: {
      inline_string: `function envoy_on_request(handle) handle:headers():add("${name}", "1") end`,
    },
  });
const managerIn = (context: string, fields: object): object =>
  patch("NETWORK_FILTER", { context, ...inManager }, "MERGE", manager(fields));
const limit = {
  stat_prefix: "http_local_rate_limiter",
  token_bucket: { max_tokens: 1000, tokens_per_fill: 1000, fill_interval: "1s" },
};
const authorization = {
  grpc_service: { envoy_grpc: { cluster_name: "outbound|7070||svc-0.ns-0.svc.cluster.local" }, timeout: "0.5s" },
};
const hostOf = (service: number, namespaces: number): string =>
  `svc-${service}.ns-${service % namespaces}.svc.cluster.local`;

/** The patches of each EnvoyFilter, by its name. */
function patchesByName(namespaces: number): Readonly<Record<string, readonly object[]>> {
  const [own, all] = [{ context: "SIDECAR_INBOUND" }, { context: "SIDECAR_OUTBOUND" }];
  return {
    "access-log": [managerIn("SIDECAR_INBOUND", { access_log_options: { flush_access_log_on_new_request: true } })],
    "add-header": [lua("SIDECAR_INBOUND", "x-lua")],
    "allow-underscores": [
      managerIn("SIDECAR_INBOUND", { common_http_protocol_options: { headers_with_underscores_action: "ALLOW" } }),
    ],
    "attempt-count": [
      patch("VIRTUAL_HOST", { ...own, routeConfiguration: { vhost: { name: "inbound|http|80" } } }, "MERGE", {
        include_request_attempt_count: true,
      }),
    ],
    "buffer-limit": [
      patch("LISTENER", { ...own, listener: { name: "virtualInbound" } }, "MERGE", {
        per_connection_buffer_limit_bytes: 65536,
      }),
    ],
    compression: [
      filterIn("GATEWAY", "envoy.filters.http.compressor", "compressor.v3.Compressor", {
        compressor_library: {
          name: "gzip",
          typed_config: extension("compression.gzip.compressor.v3.Gzip"),
        },
      }),
    ],
    "connect-timeout": [
      patch("CLUSTER", { ...all, cluster: { service: hostOf(3, namespaces) } }, "MERGE", { connect_timeout: "3s" }),
    ],
    "decode-grpc": [filterIn("SIDECAR_INBOUND", "envoy.filters.http.grpc_stats", "grpc_stats.v3.FilterConfig")],
    "external-authorization": [
      filterIn("GATEWAY", "envoy.filters.http.ext_authz", "ext_authz.v3.ExtAuthz", authorization),
    ],
    "gateway-forwarded": [managerIn("GATEWAY", { use_remote_address: true, xff_num_trusted_hops: 1 })],
    "gateway-routes": [
      patch("ROUTE_CONFIGURATION", { context: "GATEWAY" }, "MERGE", { request_headers_to_remove: ["x-internal"] }),
    ],
    "gateway-server": [managerIn("GATEWAY", { server_header_transformation: "PASS_THROUGH" })],
    keepalive: [
      patch("CLUSTER", { ...all, cluster: { service: hostOf(4, namespaces) } }, "MERGE", {
        upstream_connection_options: { tcp_keepalive: { keepalive_time: 300 } },
      }),
    ],
    "local-rate-limit": [
      filterIn("SIDECAR_INBOUND", "envoy.filters.http.local_ratelimit", "local_ratelimit.v3.LocalRateLimit", limit),
      patch("HTTP_ROUTE", { ...own, routeConfiguration: { vhost: { name: "inbound|http|80" } } }, "MERGE", {
        typed_per_filter_config: {
          "envoy.filters.http.local_ratelimit": extension("filters.http.local_ratelimit.v3.LocalRateLimit", limit),
        },
      }),
    ],
    "outbound-attempts": [
      patch("VIRTUAL_HOST", { ...all, routeConfiguration: { name: "80" } }, "MERGE", {
        include_attempt_count_in_response: true,
      }),
    ],
    "outbound-header": [lua("SIDECAR_OUTBOUND", "x-out")],
    "preserve-case": [
      managerIn("SIDECAR_INBOUND", {
        http_protocol_options: {
          header_key_format: {
            stateful_formatter: {
              name: "preserve_case",
              typed_config: extension("http.header_formatters.preserve_case.v3.PreserveCaseFormatterConfig"),
            },
          },
        },
      }),
    ],
    "proxy-protocol": [
      patch("LISTENER_FILTER", { context: "GATEWAY" }, "INSERT_FIRST", {
        name: "envoy.filters.listener.proxy_protocol",
        typed_config: extension("filters.listener.proxy_protocol.v3.ProxyProtocol"),
      }),
    ],
    "route-timeout": [
      patch("HTTP_ROUTE", { ...all, routeConfiguration: { vhost: { name: `${hostOf(5, namespaces)}:80` } } }, "MERGE", {
        route: { timeout: "2s" },
      }),
    ],
    "server-header": [managerIn("SIDECAR_INBOUND", { server_header_transformation: "PASS_THROUGH" })],
  };
}

/**
 * Returns 20 EnvoyFilters of the root namespace, of the kinds that meshes usually have: most for inbound traffic and
 * gateways, two for all outbound listeners or virtual hosts, three for a service.
 */
export function envoyFilterObjects(namespaces: number): KubernetesObject[] {
  return Object.entries(patchesByName(namespaces)).map(([name, configPatches], age) => ({
    ...istioObject("EnvoyFilter", name, rootNamespace, { age, resourceVersion: 1000 }, { configPatches }),
    apiVersion: "networking.istio.io/v1alpha3",
  }));
}
