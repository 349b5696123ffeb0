import type { Meter } from "@istiod/metrics";
import type { XdsEvent } from "@istiod/xds-server";

/** Returns the observer that counts what limits have rejected or ended. */
export function limitMetrics(meter: Meter): (event: XdsEvent) => void {
  const limited = meter.counter({
    name: "istiod_xds_limited_total",
    help: "Connections, streams and requests that a limit rejected or ended, by limit.",
    labels: ["reason"],
  });
  const isShort = meter.gauge({
    name: "istiod_memory_pressure",
    help: "1 while istiod is short of memory and sheds connections, otherwise 0.",
  });
  isShort.set(0);
  return (event) => {
    if (event.kind === "limit") limited.add({ reason: event.reason });
    if (event.kind === "memoryPressure") isShort.set(event.isHigh ? 1 : 0);
  };
}
