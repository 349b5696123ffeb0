import type { ChangeReport } from "@istiod/push-report";
import { Histogram, type Registry } from "prom-client";

/** Metrics of changes, ours: what one change costs, and how long it takes to be live. Gives what feeds them. */
export function changeMetrics(registry: Registry): (report: ChangeReport) => void {
  const registers = [registry];
  const histogram = (name: string, help: string, buckets: number[]): Histogram =>
    new Histogram({ name: `istiod_change_${name}`, help, buckets, registers });
  const proxies = histogram(
    "proxies",
    "Proxies that were sent something because of a change.",
    [0, 1, 10, 100, 1000, 10_000],
  );
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
  const seconds = [0.01, 0.05, 0.1, 0.5, 1, 3, 5, 10, 20, 30];
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
