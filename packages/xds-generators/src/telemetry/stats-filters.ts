import type { Any } from "@bufbuild/protobuf/wkt";
import { query, type QueryContext } from "@istiod/incremental";
import { PluginConfigSchema } from "@istiod/istio-api/envoy/extensions/stats/config";
import { type ListenerClass, type MetricsSettings, metricsSettings } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { type Filter, type HttpFilter, httpFilter, networkFilter } from "../envoy/filters.js";
import { hasIstioExtension } from "../istio-extensions.js";

const filterName = "istio.stats";

/** Returns the HTTP filters for metrics, one for each Prometheus provider. */
export function httpStatsFilters(q: QueryContext, listener: ListenerClass): readonly HttpFilter[] {
  return q.call(configs, listener).map((config) => httpFilter(filterName, config));
}

/** Returns the network filters for metrics. */
export function tcpStatsFilters(q: QueryContext, listener: ListenerClass): readonly Filter[] {
  return q.call(configs, listener).map((config) => networkFilter(filterName, config));
}

const configs = query("statsConfigs", (q, listener: ListenerClass): readonly Any[] => {
  const settings = q.call(metricsSettings, listener);
  return settings.length === 0 || !hasIstioExtension(q, "stats")
    ? []
    : settings.map((each) => pluginConfig(each, listener));
});

/** Prometheus names of Istio's metrics. */
const prometheusNames: Readonly<Record<string, string>> = {
  REQUEST_COUNT: "requests_total",
  REQUEST_DURATION: "request_duration_milliseconds",
  REQUEST_SIZE: "request_bytes",
  RESPONSE_SIZE: "response_bytes",
  TCP_OPENED_CONNECTIONS: "tcp_connections_opened_total",
  TCP_CLOSED_CONNECTIONS: "tcp_connections_closed_total",
  TCP_SENT_BYTES: "tcp_sent_bytes_total",
  TCP_RECEIVED_BYTES: "tcp_received_bytes_total",
  GRPC_REQUEST_MESSAGES: "request_messages_total",
  GRPC_RESPONSE_MESSAGES: "response_messages_total",
};

function pluginConfig({ overrides, reportingInterval }: MetricsSettings, listener: ListenerClass): Any {
  return packAny(PluginConfigSchema, {
    disableHostHeaderFallback: listener !== "sidecar-outbound",
    ...(reportingInterval && { tcpReportingDuration: reportingInterval }),
    metrics: overrides.map(({ metric, disabled, tags }) => ({
      name: prometheusNames[metric] ?? metric,
      drop: disabled,
      dimensions: Object.fromEntries(tags.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
      tagsToRemove: tags.flatMap(({ name, value }) => (value === undefined ? [name] : [])),
    })),
  });
}
