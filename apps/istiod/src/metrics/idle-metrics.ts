import { Counter, type Registry } from "prom-client";

/** Counters of Istio's that dashboards ask for, of what nothing here does yet. Whoever comes to count one of them registers it first. */
const idle: Readonly<Record<string, string>> = {
  galley_validation_http_error: "Requests to the validation webhook that could not be served.",
  sidecar_injection_requests_total: "Requests to inject a sidecar.",
  sidecar_injection_success_total: "Sidecars injected.",
  sidecar_injection_failure_total: "Requests to inject that failed.",
  sidecar_injection_skip_total: "Requests to inject that were skipped.",
  remote_cluster_sync_timeouts_total: "Remote clusters that took too long to be read.",
};

/** Gives the counters that nothing feeds in this process the value 0, so that queries for them find them. */
export function idleMetrics(registry: Registry): void {
  for (const [name, help] of Object.entries(idle)) if (registry.getSingleMetric(name) === undefined) new Counter({ name, help, registers: [registry] });
}
