import { Counter, Gauge, Registry } from "prom-client";

const PREFIX = "istio_agent_";

/** The agent's metrics, named as in Istio. */
export interface AgentMetrics {
  readonly registry: Registry;
  readonly istiodConnectionFailures: Counter;
  readonly istiodConnectionTerminations: Counter<"type">;
  readonly envoyConnectionTerminations: Counter<"type">;
  readonly xdsProxyRequests: Counter;
  readonly xdsProxyResponses: Counter;
  readonly xdsRejected: Counter<"reason">;
  readonly sdsRejected: Counter<"reason">;
  readonly startupDuration: Gauge;
  readonly scrapes: Counter;
  readonly scrapeFailures: Counter<"type">;
  readonly outgoingRequests: Counter<"request_type">;
  readonly failedOutgoingRequests: Counter<"request_type">;
  readonly outgoingLatency: Counter<"request_type">;
  readonly fileSecretFailures: Counter;
  readonly dnsRequests: Counter;
  readonly dnsUpstreamRequests: Counter;
  readonly dnsUpstreamFailures: Counter;
  readonly dnsRejected: Counter<"reason">;
  readonly unexpectedErrors: Counter;
  readonly statusRejected: Counter<"reason">;
  readonly modules: Gauge;
  readonly moduleLookups: Counter<"hit">;
  readonly moduleFetches: Counter<"result">;
  readonly extensionConversions: Counter<"result">;
}

/** Creates the metrics in a registry of their own. */
export function agentMetrics(): AgentMetrics {
  const registry = new Registry();
  const counter = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> =>
    new Counter({ name: `${PREFIX}${name}`, help, labelNames, registers: [registry] });
  return {
    registry,
    istiodConnectionFailures: counter("istiod_connection_failures", "Failed connections to istiod."),
    istiodConnectionTerminations: counter("istiod_connection_terminations", "Discovery streams terminated by istiod.", [
      "type",
    ]),
    envoyConnectionTerminations: counter("envoy_connection_terminations", "Discovery streams terminated by Envoy.", [
      "type",
    ]),
    xdsProxyRequests: counter("xds_proxy_requests", "Discovery requests forwarded to istiod."),
    xdsProxyResponses: counter("xds_proxy_responses", "Discovery responses received from istiod."),
    xdsRejected: counter(
      "xds_rejected_total",
      "Connections, discovery messages and responses to the agent that were rejected.",
      ["reason"],
    ),
    sdsRejected: counter("sds_rejected_total", "Connections and requests for secrets rejected by a limit.", ["reason"]),
    startupDuration: new Gauge({
      name: `${PREFIX}startup_duration_seconds`,
      help: "Time from startup until the proxy was ready.",
      registers: [registry],
    }),
    scrapes: counter("scrapes_total", "Scrapes of the merged metrics."),
    scrapeFailures: counter("scrape_failures_total", "Failed scrapes of Envoy or the application.", ["type"]),
    outgoingRequests: counter("num_outgoing_requests", "Requests to the certificate authority.", ["request_type"]),
    failedOutgoingRequests: counter(
      "num_failed_outgoing_requests",
      "Requests to the certificate authority that failed.",
      ["request_type"],
    ),
    outgoingLatency: counter(
      "outgoing_latency",
      "Time of all requests to the certificate authority, in milliseconds.",
      ["request_type"],
    ),
    fileSecretFailures: counter(
      "num_file_secret_failures_total",
      "Certificate files that could not be read or were invalid.",
    ),
    dnsRequests: counter("dns_requests_total", "DNS queries received."),
    dnsUpstreamRequests: counter("dns_upstream_requests_total", "DNS queries forwarded to upstream name servers."),
    dnsUpstreamFailures: counter(
      "dns_upstream_failures_total",
      "DNS queries without a response from any upstream name server.",
    ),
    dnsRejected: counter("dns_rejected_total", "DNS queries and connections rejected by a limit.", ["reason"]),
    unexpectedErrors: counter("unexpected_errors_total", "Errors that no part of the agent handled."),
    statusRejected: counter("status_rejected_total", "Requests to the status port rejected by a limit.", ["reason"]),
    modules: new Gauge({
      name: `${PREFIX}wasm_cache_entries`,
      help: "Wasm modules in the cache.",
      registers: [registry],
    }),
    moduleLookups: counter("wasm_cache_lookup_count", "Wasm modules looked up in the cache.", ["hit"]),
    moduleFetches: counter("wasm_remote_fetch_count", "Wasm modules fetched, and failures.", ["result"]),
    extensionConversions: counter("wasm_config_conversion_count", "Extension configurations converted.", ["result"]),
  };
}

/**
 * Registers the gauge of the workload certificate's expiry.
 *
 * @param secondsToExpiry read at each scrape; `undefined` while there is no certificate
 */
export function exportCertificateExpiry(
  { registry }: Pick<AgentMetrics, "registry">,
  secondsToExpiry: () => number | undefined,
): void {
  new Gauge({
    name: `${PREFIX}cert_expiry_seconds`,
    help: "Time until the workload certificate expires; negative after expiry.",
    labelNames: ["resource_name"],
    registers: [registry],
    collect() {
      const seconds = secondsToExpiry();
      if (seconds !== undefined) this.set({ resource_name: "default" }, seconds);
    },
  });
}
