import type { Meter } from "@istiod/metrics";
import type { CommitTiming } from "../ingestion/ingestion-options.js";

const labels = { queueID: "sources" };
const queueBuckets = [0.01, 0.1, 0.2, 0.5, 1, 3, 5];

/** Returns the observer of commits that records how long they took, in seconds. */
export function commitTimings(meter: Meter): (timing: CommitTiming) => void {
  const debounce = meter.histogram({
    name: "pilot_debounce_time",
    help: "Seconds from the first change of a burst to its push.",
    buckets: [0.01, 0.1, 0.5, 1, 3, 5, 10, 20, 30],
  });
  const init = meter.histogram({
    name: "pilot_pushcontext_init_seconds",
    help: "Seconds that a commit took, the counterpart of initializing a push context.",
    buckets: [0.01, 0.1, 0.5, 1, 3, 5],
  });
  const latency = meter.histogram({
    name: "pilot_worker_queue_latency",
    help: "Seconds from the first change in a source's burst to the work on it.",
    labels: ["queueID"],
    buckets: queueBuckets,
  });
  const duration = meter.histogram({
    name: "pilot_worker_queue_duration",
    help: "Seconds that reading and committing a burst took.",
    labels: ["queueID"],
    buckets: queueBuckets,
  });
  return ({ debounceMs, commitMs, readMs }) => {
    debounce.observe((debounceMs + commitMs) / 1000);
    init.observe(commitMs / 1000);
    latency.observe(debounceMs / 1000, labels);
    duration.observe((readMs + commitMs) / 1000, labels);
  };
}
