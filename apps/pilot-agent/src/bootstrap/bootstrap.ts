import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { metadataDiscoveryExtension } from "../envoy/metadata-discovery.js";
import { AgentError } from "../errors.js";
import { isTrue } from "../node/metadata.js";
import { serviceCluster } from "../node/service-cluster.js";
import type { BootstrapInputs } from "./bootstrap-inputs.js";
import { staticClusters } from "./static-clusters.js";
import { collectorAddress } from "./collector-address.js";
import { extension, object } from "./json.js";
import { staticListeners } from "./static-listeners.js";
import { networkSettings } from "./network-settings.js";
import { connectionLimit, runtimeLayer } from "./runtime.js";
import { statsConfig, statsIntervals } from "./stats.js";
import { tracer } from "./tracing.js";

const JSON_LOG = { time: "%Y-%m-%dT%T.%fZ", level: "%l", scope: "envoy %n", msg: "%j", caller: "%g:%#", thread: "%t" };
const TEXT_LOG = "%Y-%m-%dT%T.%fZ\t%l\tenvoy %n %g:%#\t%v\tthread=%t";

/** Envoy's internal listener extension, in a TypedStruct: Envoy decodes it only if it has the extension. */
const INTERNAL_LISTENER: JsonObject = {
  name: "envoy.bootstrap.internal_listener",
  typed_config: {
    "@type": "type.googleapis.com/udpa.type.v1.TypedStruct",
    type_url: "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener",
    value: { buffer_size_kb: 64 },
  },
};

/**
 * Builds Envoy's bootstrap (`envoy.config.bootstrap.v3.Bootstrap` in JSON), equal to that of Istio's template.
 *
 * @throws AgentError `configuration` if an address in the proxy configuration cannot be parsed
 */
export function buildBootstrap(inputs: BootstrapInputs): JsonObject {
  const { proxyConfig } = inputs;
  const networks = networkSettings(inputs.addresses, inputs.dualStack ?? false, inputs.bindAddress);
  const isDelta = inputs.deltaXds !== false || isWaypoint(inputs);
  const metadataDiscovery = usesMetadataDiscovery(inputs, isDelta);
  const trace = tracer(inputs);
  return object({
    application_log_config: { log_format: inputs.logAsJson ? { json_format: JSON_LOG } : { text_format: TEXT_LOG } },
    node: node(inputs),
    layered_runtime: {
      layers: [
        { name: "global config", static_layer: runtimeLayer(proxyConfig, inputs.compliancePolicy) },
        { name: "admin", admin_layer: {} },
      ],
    },
    bootstrap_extensions: [...(metadataDiscovery ? [metadataDiscoveryExtension] : []), INTERNAL_LISTENER],
    ...statsIntervals(inputs),
    stats_config: statsConfig(inputs, metadataDiscovery),
    admin: {
      access_log: [
        extension("envoy.access_loggers.file", "envoy.extensions.access_loggers.file.v3.FileAccessLog", {
          path: "/dev/null",
        }),
      ],
      profile_path: inputs.profilePath ?? "/var/lib/istio/data/envoy.prof",
      address: { socket_address: { address: networks.localhost, port_value: proxyConfig.proxyAdminPort } },
    },
    dynamic_resources: dynamicResources(isDelta),
    static_resources: { clusters: staticClusters(inputs, networks), listeners: staticListeners(inputs, networks) },
    overload_manager: {
      resource_monitors: [
        extension(
          "envoy.resource_monitors.global_downstream_max_connections",
          "envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
          { max_active_downstream_connections: connectionLimit(proxyConfig) },
        ),
      ],
    },
    tracing: trace && { http: trace.http },
    stats_sinks: statsSinks(inputs),
    cluster_manager: clusterManager(inputs),
    deferred_stat_options: { enable_deferred_creation_stats: true },
  });
}

function isWaypoint({ nodeId }: BootstrapInputs): boolean {
  return nodeId.startsWith("waypoint~");
}

function usesMetadataDiscovery(inputs: BootstrapInputs, isDelta: boolean): boolean {
  const isEnabled = isWaypoint(inputs) || isTrue(inputs.node.metadata["METADATA_DISCOVERY"]);
  if (isEnabled && !isDelta) inputs.warn?.("disabling metadata discovery; not supported on SotW XDS");
  return isEnabled && isDelta;
}

function node({ nodeId, node: { labels, locality, metadata }, proxyConfig, ...inputs }: BootstrapInputs): JsonObject {
  const { namespace, workloadName } = inputs;
  return {
    id: nodeId,
    cluster: serviceCluster(proxyConfig, { labels, namespace, workloadName }),
    locality: object({ region: locality.region, zone: locality.zone, sub_zone: locality.subZone }),
    metadata,
  };
}

function dynamicResources(isDelta: boolean): JsonObject {
  return {
    lds_config: { ads: {}, initial_fetch_timeout: "0s", resource_api_version: "V3" },
    cds_config: { ads: {}, initial_fetch_timeout: "0s", resource_api_version: "V3" },
    ads_config: {
      api_type: isDelta ? "DELTA_GRPC" : "GRPC",
      set_node_on_first_message_only: true,
      transport_api_version: "V3",
      grpc_services: [{ envoy_grpc: { cluster_name: "xds-grpc" } }],
    },
  };
}

function statsSinks({ proxyConfig, hostIp }: BootstrapInputs): JsonValue | undefined {
  const sinks: JsonValue[] = [];
  if (proxyConfig.envoyMetricsService && proxyConfig.envoyMetricsService.address !== "") {
    sinks.push(
      extension("envoy.stat_sinks.metrics_service", "envoy.config.metrics.v3.MetricsServiceConfig", {
        transport_api_version: "V3",
        grpc_service: { envoy_grpc: { cluster_name: "envoy_metrics_service" } },
      }),
    );
  }
  if (proxyConfig.statsdUdpAddress !== "") {
    sinks.push(
      extension("envoy.stat_sinks.statsd", "envoy.config.metrics.v3.StatsdSink", {
        address: collectorAddress(proxyConfig.statsdUdpAddress, "statsd", hostIp),
      }),
    );
  }
  return sinks.length > 0 ? sinks : undefined;
}

function clusterManager({ node, outlierLogPath }: BootstrapInputs): JsonValue | undefined {
  const hasSelfDiscovery = isTrue(node.metadata["ENABLE_SELF_DISCOVERY"]);
  const loadStats = node.metadata["LOAD_STATS_CONFIG_JSON"];
  if (!hasSelfDiscovery && !outlierLogPath && typeof loadStats !== "string") return undefined;
  return object({
    local_cluster_name: hasSelfDiscovery ? "local_cluster" : undefined,
    outlier_detection: outlierLogPath ? { event_log_path: outlierLogPath } : undefined,
    load_stats_config: typeof loadStats === "string" ? parseLoadStats(loadStats) : undefined,
    enable_deferred_cluster_creation: true,
  });
}

function parseLoadStats(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch (error) {
    throw AgentError.from(error, "configuration", "ISTIO_META_LOAD_STATS_CONFIG_JSON");
  }
}
