import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { BootstrapInputs } from "./bootstrap-inputs.js";
import { extension, object, socketAddress, typed } from "./json.js";
import type { NetworkSettings } from "./network-settings.js";
import { tlsParameters } from "./tls-parameters.js";
import { sdsSecretConfig } from "./upstream-tls.js";

/** Builds the bootstrap's static listeners: metrics, and health checks that are forwarded to the agent. */
export function staticListeners(inputs: BootstrapInputs, networks: NetworkSettings): JsonValue[] {
  const { proxyConfig, statusPort, prometheusPort, secureMetricsPort, secureMergedMetricsPort } = inputs;
  const isLocalOnly = proxyConfig.proxyMetadata["METRICS_LOCALHOST_ACCESS_ONLY"] === "true";
  const metrics = isLocalOnly
    ? { main: networks.localhost, additional: networks.additionalLocalhost }
    : { main: networks.wildcard, additional: networks.additionalWildcard };
  const wildcard = { main: networks.wildcard, additional: networks.additionalWildcard };
  const stats = [route("/stats/prometheus", "prometheus_stats")];
  const secureListener = (port: number, manager: JsonObject): JsonObject =>
    tlsListener(networks.wildcard, port, manager, tlsParameters(inputs.compliancePolicy));
  const merged = [route("/stats/prometheus", "agent"), route("/metrics", "agent")];
  return [
    listener(
      metrics,
      prometheusPort,
      {},
      httpConnectionManager("stats", stats, proxyConfig.statsCompression === false ? [] : COMPRESSORS),
    ),
    ...(secureMetricsPort ? [secureListener(secureMetricsPort, httpConnectionManager("secure_stats", stats, []))] : []),
    ...(secureMergedMetricsPort
      ? [secureListener(secureMergedMetricsPort, httpConnectionManager("secure_merged_stats", merged, []))]
      : []),
    listener(
      wildcard,
      statusPort,
      {
        listener_filters: inputs.statusProxyProtocol
          ? [
              extension(
                "envoy.listener.proxy_protocol",
                "envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol",
                { allow_requests_without_proxy_protocol: true },
              ),
            ]
          : undefined,
      },
      httpConnectionManager("agent", [route("/healthz/ready", "agent")], []),
    ),
  ];
}

function listener(
  address: { readonly main: string; readonly additional: string | undefined },
  port: number,
  more: Readonly<Record<string, JsonValue | undefined>>,
  manager: JsonObject,
): JsonObject {
  return object({
    name: `${address.main}_${port}`,
    address: socketAddress(address.main, port),
    ignore_global_conn_limit: true,
    bypass_overload_manager: true,
    additional_addresses:
      address.additional === undefined ? undefined : [{ address: socketAddress(address.additional, port) }],
    ...more,
    filter_chains: [{ filters: [manager] }],
  });
}

/** Builds a listener with mutual TLS that presents the workload's certificate. */
function tlsListener(
  address: string,
  port: number,
  manager: JsonObject,
  parameters: JsonObject | undefined,
): JsonObject {
  return {
    name: `${address}_${port}`,
    address: socketAddress(address, port),
    ignore_global_conn_limit: true,
    bypass_overload_manager: true,
    listener_filters: [
      extension(
        "envoy.filters.listener.tls_inspector",
        "envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector",
      ),
    ],
    filter_chains: [
      {
        filter_chain_match: { transport_protocol: "tls" },
        transport_socket: extension(
          "envoy.transport_sockets.tls",
          "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
          {
            require_client_certificate: true,
            common_tls_context: object({
              tls_params: parameters,
              tls_certificate_sds_secret_configs: [sdsSecretConfig("default")],
              combined_validation_context: {
                default_validation_context: {},
                validation_context_sds_secret_config: sdsSecretConfig("ROOTCA"),
              },
            }),
          },
        ),
        filters: [manager],
      },
    ],
  };
}

function httpConnectionManager(statPrefix: string, routes: JsonValue[], filters: readonly JsonObject[]): JsonObject {
  return extension(
    "envoy.filters.network.http_connection_manager",
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    {
      codec_type: "AUTO",
      stat_prefix: statPrefix,
      route_config: { virtual_hosts: [{ name: "backend", domains: ["*"], routes }] },
      http_filters: [
        ...filters,
        extension("envoy.filters.http.router", "envoy.extensions.filters.http.router.v3.Router"),
      ],
    },
  );
}

function route(prefix: string, cluster: string): JsonObject {
  return { match: { prefix }, route: { cluster } };
}

const COMPRESSED_TYPES = [
  "text/plain",
  "application/vnd.google.protobuf",
  "application/openmetrics-text",
  "application/openmetrics-protobuf",
];

const COMPRESSORS: readonly JsonObject[] = [
  compressor("brotli", "Brotli"),
  compressor("zstd", "Zstd"),
  compressor("gzip", "Gzip"),
];

function compressor(name: string, message: string): JsonObject {
  return extension(`envoy.filters.http.compressor.${name}`, "envoy.extensions.filters.http.compressor.v3.Compressor", {
    compressor_library: {
      name: `stats_${name}`,
      typed_config: typed(`envoy.extensions.compression.${name}.compressor.v3.${message}`),
    },
    response_direction_config: { common_config: { content_type: COMPRESSED_TYPES } },
  });
}
