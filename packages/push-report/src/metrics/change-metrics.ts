import type { Meter } from "@istiod/metrics";
import type { ChangeReport } from "../change-report.js";

const seconds = [0.01, 0.05, 0.1, 0.5, 1, 3, 5, 10, 20, 30];

/** Returns the observer of settled changes that records their cost and the time until they are live. */
export function changeMetrics(meter: Meter): (report: ChangeReport) => void {
  const histogram = (name: string, help: string, buckets: readonly number[]) =>
    meter.histogram({ name: `istiod_change_${name}`, help, buckets });
  const proxies = histogram("proxies", "Proxies that a change was pushed to.", [0, 1, 10, 100, 1000, 10_000]);
  const resources = histogram(
    "resources",
    "Resources that were sent because of a change, over all proxies.",
    [0, 1, 10, 100, 1000, 10_000, 100_000],
  );
  const bytes = histogram(
    "bytes",
    "Bytes that were sent because of a change, over all proxies.",
    [0, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000],
  );
  const first = histogram("first_ack_seconds", "Seconds from a change to its first acknowledgement.", seconds);
  const last = histogram("last_ack_seconds", "Seconds from a change to its last acknowledgement.", seconds);
  return (report) => {
    proxies.observe(report.proxies);
    resources.observe(report.resources);
    bytes.observe(report.bytes);
    if (report.firstAckMs !== undefined) first.observe(report.firstAckMs / 1000);
    if (report.lastAckMs !== undefined) last.observe(report.lastAckMs / 1000);
  };
}
