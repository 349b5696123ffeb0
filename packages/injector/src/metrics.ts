import type { Meter } from "@istiod/metrics";

/** Counts requests of the webhook, by Istio's names. */
export interface InjectionMetrics {
  /** Counts a request that came. */
  received(): void;
  /** Counts an answered request. Istio counts each of them as a success, also skipped and failed ones. */
  answered(): void;
  skipped(): void;
  failed(): void;
  /** Records the time between request and answer, in seconds. */
  took(seconds: number): void;
}

/** Declares the metrics of injection (pkg/kube/inject/monitoring.go). */
export function injectionMetrics(meter: Meter): InjectionMetrics {
  const counter = (name: string, help: string) => meter.counter({ name: `sidecar_injection_${name}_total`, help });
  const requests = counter("requests", "Total number of sidecar injection requests.");
  const successes = counter("success", "Total number of successful sidecar injection requests.");
  const failures = counter("failure", "Total number of failed sidecar injection requests.");
  const skips = counter("skip", "Total number of skipped sidecar injection requests.");
  const time = meter.histogram({
    name: "sidecar_injection_time_seconds",
    help: "Total time taken for injection in seconds.",
    buckets: [0.1, 1, 3, 5, 10, 20, 30, 60],
  });
  return {
    received: () => requests.add(),
    answered: () => successes.add(),
    skipped: () => skips.add(),
    failed: () => failures.add(),
    took: (seconds) => time.observe(seconds),
  };
}
