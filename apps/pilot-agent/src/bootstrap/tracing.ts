import type { JsonObject } from "@bufbuild/protobuf";
import { serviceCluster } from "../node/service-cluster.js";
import type { BootstrapInputs } from "./bootstrap-inputs.js";
import { collector, http2Options } from "./cluster-config.js";
import { collectorAddress } from "./collector-address.js";
import { extension } from "./json.js";
import { upstreamTls } from "./upstream-tls.js";

/** A tracer and the cluster of its collector. */
export interface Tracer {
  cluster(dnsLookupFamily: string): JsonObject;
  readonly http: JsonObject;
}

/** Builds the proxy configuration's tracer; `undefined` if there is none, or Envoy does not support it. */
export function tracer(inputs: BootstrapInputs): Tracer | undefined {
  const config = inputs.proxyConfig.tracing?.tracer;
  switch (config?.case) {
    case "zipkin":
      return zipkin(inputs, config.value.address);
    case "lightstep":
      return lightstep(inputs, config.value.address);
    case "datadog":
      return datadog(inputs, config.value.address);
    default:
      return undefined;
  }
}

function zipkin(inputs: BootstrapInputs, address: string): Tracer {
  return {
    cluster: (family) =>
      collector("zipkin", collectorAddress(address, "zipkin", inputs.hostIp), family, {
        transport_socket: tracerTls(inputs, false),
        dns_refresh_rate: "30s",
      }),
    http: extension("envoy.tracers.zipkin", "envoy.config.trace.v3.ZipkinConfig", {
      collector_cluster: "zipkin",
      collector_endpoint: "/api/v2/spans",
      collector_endpoint_version: "HTTP_JSON",
      trace_id_128bit: true,
      shared_span_context: false,
    }),
  };
}

function lightstep(inputs: BootstrapInputs, address: string): Tracer {
  return {
    cluster: (family) =>
      collector("lightstep", collectorAddress(address, "lightstep", inputs.hostIp), family, {
        transport_socket: tracerTls(inputs, true),
        typed_extension_protocol_options: http2Options,
      }),
    http: extension("envoy.tracers.lightstep", "envoy.config.trace.v3.LightstepConfig", {
      collector_cluster: "lightstep",
      access_token_file: inputs.lightstepTokenFile ?? "",
    }),
  };
}

function datadog(inputs: BootstrapInputs, address: string): Tracer {
  const { proxyConfig, node, namespace, workloadName } = inputs;
  return {
    cluster: (family) =>
      collector("datadog_agent", collectorAddress(address, "datadog", inputs.hostIp), family, {
        transport_socket: tracerTls(inputs, false),
      }),
    http: extension("envoy.tracers.datadog", "envoy.config.trace.v3.DatadogConfig", {
      collector_cluster: "datadog_agent",
      service_name: serviceCluster(proxyConfig, { labels: node.labels, namespace, workloadName }),
    }),
  };
}

function tracerTls(inputs: BootstrapInputs, http2: boolean): JsonObject | undefined {
  return upstreamTls(inputs.proxyConfig.tracing?.tlsSettings, "tracer", inputs, http2);
}
