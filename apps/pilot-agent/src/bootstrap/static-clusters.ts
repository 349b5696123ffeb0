import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { RemoteService } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { isTrue } from "../node/metadata.js";
import type { BootstrapInputs } from "./bootstrap-inputs.js";
import { cluster, collector, http2Options } from "./cluster-config.js";
import { collectorAddress } from "./collector-address.js";
import { object, socketAddress, typed } from "./json.js";
import type { NetworkSettings } from "./network-settings.js";
import { tracer } from "./tracing.js";
import { upstreamTls } from "./upstream-tls.js";

/** Circuit breaker thresholds for Envoy's own requests: Envoy's defaults reject some after many reconnects. */
const NO_LIMIT = { max_connections: 100000, max_pending_requests: 100000, max_requests: 100000 };

/** Builds the bootstrap's static clusters. */
export function staticClusters(inputs: BootstrapInputs, networks: NetworkSettings): JsonValue[] {
  const { proxyConfig, node, filesSocket } = inputs;
  const trace = tracer(inputs);
  return [
    local("prometheus_stats", networks.localhost, proxyConfig.proxyAdminPort),
    local("agent", networks.localhost, proxyConfig.statusPort),
    pipe("sds-grpc", inputs.sdsSocket),
    ...(filesSocket === undefined ? [] : [pipe("sds-files-grpc", filesSocket)]),
    {
      ...pipe("xds-grpc", inputs.xdsSocket),
      circuit_breakers: {
        thresholds: [
          { priority: "DEFAULT", ...NO_LIMIT },
          { priority: "HIGH", ...NO_LIMIT },
        ],
      },
      upstream_connection_options: { tcp_keepalive: { keepalive_time: 300 } },
      max_requests_per_connection: 1,
    },
    ...(trace ? [trace.cluster(networks.dnsLookupFamily)] : []),
    ...remote("envoy_metrics_service", proxyConfig.envoyMetricsService, inputs, networks),
    ...remote("envoy_accesslog_service", proxyConfig.envoyAccessLogService, inputs, networks),
    ...(isTrue(node.metadata["ENABLE_SELF_DISCOVERY"]) ? [SELF] : []),
  ];
}

/** The cluster of the workload's own endpoints, for zone-aware load balancing. */
const SELF: JsonObject = {
  name: "local_cluster",
  alt_stat_name: "local_cluster;",
  type: "EDS",
  connect_timeout: "1s",
  load_balancing_policy: {
    policies: [
      {
        typed_extension_config: {
          name: "envoy.load_balancing_policies.least_request",
          typed_config: typed("envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest", {
            locality_lb_config: { zone_aware_lb_config: { min_cluster_size: "1" } },
          }),
        },
      },
    ],
  },
  eds_cluster_config: { eds_config: { ads: {}, resource_api_version: "V3" }, service_name: "local_cluster" },
};

function local(name: string, address: string, port: number): JsonObject {
  return cluster(name, "STATIC", socketAddress(address, port), "0.250s");
}

function pipe(name: string, path: string): JsonObject {
  return { ...cluster(name, "STATIC", { pipe: { path } }, "1s"), typed_extension_protocol_options: http2Options };
}

function remote(
  name: string,
  service: RemoteService | undefined,
  inputs: BootstrapInputs,
  networks: NetworkSettings,
): JsonValue[] {
  if (!service || service.address === "") return [];
  const keepalive = service.tcpKeepalive;
  const seconds = (value: Parameters<typeof durationMs>[0] | undefined): number | undefined =>
    value ? Math.floor(durationMs(value) / 1000) || undefined : undefined;
  return [
    collector(name, collectorAddress(service.address, name, inputs.hostIp), networks.dnsLookupFamily, {
      transport_socket: upstreamTls(service.tlsSettings, name, inputs, true),
      upstream_connection_options: keepalive && {
        tcp_keepalive: object({
          keepalive_probes: keepalive.probes || undefined,
          keepalive_time: seconds(keepalive.time),
          keepalive_interval: seconds(keepalive.interval),
        }),
      },
      typed_extension_protocol_options: http2Options,
    }),
  ];
}
