/** A metric of Istio's proxies. Source: istio_stats.cc at istio/proxy, and istio.io's page of standard metrics. */
export interface StandardMetric {
  /** Its name in Prometheus without `istio_`. */
  readonly name: string;
  readonly unit?: "milliseconds" | "bytes";
  /** Envoy's operator for the value of a histogram or the increment of a counter. A counter without one counts 1. */
  readonly value?: string;
}

/** Metrics of requests. `value` is per request. */
export const httpMetrics = {
  REQUEST_COUNT: { name: "requests_total" },
  REQUEST_DURATION: { name: "request_duration_milliseconds", unit: "milliseconds", value: "%DURATION%" },
  REQUEST_SIZE: { name: "request_bytes", unit: "bytes", value: "%DOWNSTREAM_WIRE_BYTES_RECEIVED%" },
  RESPONSE_SIZE: { name: "response_bytes", unit: "bytes", value: "%DOWNSTREAM_WIRE_BYTES_SENT%" },
} as const satisfies Readonly<Record<string, StandardMetric>>;

/** Metrics of TCP connections. `value` is per connection. */
export const tcpMetrics = {
  TCP_OPENED_CONNECTIONS: { name: "tcp_connections_opened_total" },
  TCP_CLOSED_CONNECTIONS: { name: "tcp_connections_closed_total" },
  TCP_SENT_BYTES: { name: "tcp_sent_bytes_total", value: "%DOWNSTREAM_WIRE_BYTES_SENT%" },
  TCP_RECEIVED_BYTES: { name: "tcp_received_bytes_total", value: "%DOWNSTREAM_WIRE_BYTES_RECEIVED%" },
} as const satisfies Readonly<Record<string, StandardMetric>>;

/** Prefix of the statistics in Envoy, and of the metrics' names in Prometheus after Envoy's own prefix `envoy_`. */
export const statPrefix = "istio";
