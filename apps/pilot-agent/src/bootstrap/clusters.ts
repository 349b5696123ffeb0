import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { RemoteService } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { isTrue } from "../node/metadata.js";
import type { BootstrapInputs } from "./bootstrap-inputs.js";
import { collectorAddress } from "./collector-address.js";
import { object, socketAddress, typed } from "./json.js";
import type { Networks } from "./networks.js";
import { tracer } from "./tracing.js";
import { upstreamTls } from "./upstream-tls.js";

const HTTP2 = {
  "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": typed("envoy.extensions.upstreams.http.v3.HttpProtocolOptions", {
    explicit_http_config: { http2_protocol_options: {} },
  }),
};

/** Enough for every request that Envoy sends itself; the default would refuse some after many reconnects. */
const NO_LIMIT = { max_connections: 100000, max_pending_requests: 100000, max_requests: 100000 };

/** The clusters that Envoy knows before istiod tells it any. */
export function staticClusters(inputs: BootstrapInputs, networks: Networks): JsonValue[] {
  const { proxyConfig, node, filesSocket } = inputs;
  const trace = tracer(inputs);
  return [
    local("prometheus_stats", networks.localhost, proxyConfig.proxyAdminPort),
    local("agent", networks.localhost, proxyConfig.statusPort),
    pipe("sds-grpc", inputs.sdsSocket),
    ...(filesSocket === undefined ? [] : [pipe("sds-files-grpc", filesSocket)]),
    {
      ...pipe("xds-grpc", inputs.xdsSocket),
      circuit_breakers: { thresholds: [{ priority: "DEFAULT", ...NO_LIMIT }, { priority: "HIGH", ...NO_LIMIT }] },
      upstream_connection_options: { tcp_keepalive: { keepalive_time: 300 } },
      max_requests_per_connection: 1,
    },
    ...(trace ? [trace.cluster(networks.dnsLookupFamily)] : []),
    ...remote("envoy_metrics_service", proxyConfig.envoyMetricsService, inputs, networks),
    ...remote("envoy_accesslog_service", proxyConfig.envoyAccessLogService, inputs, networks),
    ...(isTrue(node.metadata["ENABLE_SELF_DISCOVERY"]) ? [SELF] : []),
  ];
}

/** Envoy's own endpoints, by which it learns the zones that it shares. */
const SELF: JsonObject = {
  name: "local_cluster",
  alt_stat_name: "local_cluster;",
  type: "EDS",
  connect_timeout: "1s",
  load_balancing_policy: {
    policies: [{
      typed_extension_config: {
        name: "envoy.load_balancing_policies.least_request",
        typed_config: typed("envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest", {
          locality_lb_config: { zone_aware_lb_config: { min_cluster_size: "1" } },
        }),
      },
    }],
  },
  eds_cluster_config: { eds_config: { ads: {}, resource_api_version: "V3" }, service_name: "local_cluster" },
};

/** A semicolon ends each name in statistics, so that the tag rules find where it ends. */
function cluster(name: string, type: "STATIC" | "STRICT_DNS", address: JsonObject, connectTimeout: string): JsonObject {
  return {
    name,
    alt_stat_name: `${name};`,
    type,
    connect_timeout: connectTimeout,
    lb_policy: "ROUND_ROBIN",
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  };
}

function local(name: string, address: string, port: number): JsonObject {
  return cluster(name, "STATIC", socketAddress(address, port), "0.250s");
}

function pipe(name: string, path: string): JsonObject {
  return { ...cluster(name, "STATIC", { pipe: { path } }, "1s"), typed_extension_protocol_options: HTTP2 };
}

/** A collector that is found by name. */
export function collector(name: string, address: JsonObject, dnsLookupFamily: string, more: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return object({ ...cluster(name, "STRICT_DNS", address, "1s"), respect_dns_ttl: true, dns_lookup_family: dnsLookupFamily, ...more });
}

/** Makes a cluster speak HTTP/2. */
export const http2Options = HTTP2;

function remote(name: string, service: RemoteService | undefined, inputs: BootstrapInputs, networks: Networks): JsonValue[] {
  if (!service || service.address === "") return [];
  const keepalive = service.tcpKeepalive;
  const seconds = (value: Parameters<typeof durationMs>[0] | undefined): number | undefined => (value ? Math.floor(durationMs(value) / 1000) || undefined : undefined);
  return [
    collector(name, collectorAddress(service.address, name, inputs.hostIp), networks.dnsLookupFamily, {
      transport_socket: upstreamTls(service.tlsSettings, name, inputs.node.metadata, true),
      upstream_connection_options: keepalive && {
        tcp_keepalive: object({
          keepalive_probes: keepalive.probes || undefined,
          keepalive_time: seconds(keepalive.time),
          keepalive_interval: seconds(keepalive.interval),
        }),
      },
      typed_extension_protocol_options: HTTP2,
    }),
  ];
}
