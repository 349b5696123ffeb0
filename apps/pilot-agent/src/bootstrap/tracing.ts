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
  const { proxyConfig, node, hostIp } = inputs;
  const { tracing } = proxyConfig;
  if (!tracing) return undefined;
  const tls = (http2: boolean): JsonObject | undefined =>
    upstreamTls(tracing.tlsSettings, "tracer", node.metadata, http2);
  switch (tracing.tracer.case) {
    case "zipkin": {
      const { address } = tracing.tracer.value;
      return {
        cluster: (family) =>
          collector("zipkin", collectorAddress(address, "zipkin", hostIp), family, {
            transport_socket: tls(false),
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
    case "lightstep": {
      const { address } = tracing.tracer.value;
      return {
        cluster: (family) =>
          collector("lightstep", collectorAddress(address, "lightstep", hostIp), family, {
            transport_socket: tls(true),
            typed_extension_protocol_options: http2Options,
          }),
        http: extension("envoy.tracers.lightstep", "envoy.config.trace.v3.LightstepConfig", {
          collector_cluster: "lightstep",
          access_token_file: inputs.lightstepTokenFile ?? "",
        }),
      };
    }
    case "datadog": {
      const { address } = tracing.tracer.value;
      return {
        cluster: (family) =>
          collector("datadog_agent", collectorAddress(address, "datadog", hostIp), family, {
            transport_socket: tls(false),
          }),
        http: extension("envoy.tracers.datadog", "envoy.config.trace.v3.DatadogConfig", {
          collector_cluster: "datadog_agent",
          service_name: serviceCluster(proxyConfig, {
            labels: node.labels,
            namespace: inputs.namespace,
            workloadName: inputs.workloadName,
          }),
        }),
      };
    }
    default:
      return undefined;
  }
}
