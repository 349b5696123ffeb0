import type { Meter } from "@istiod/metrics";
import type { XdsEvent } from "@istiod/xds-server";
import { limitMetrics } from "./limit-metrics.js";
import { rejectionMetrics } from "./rejection-metrics.js";
import { responseMetrics } from "./response-metrics.js";
import { streamMetrics } from "./stream-metrics.js";
import { boundedTypes } from "./type-labels.js";

/** Returns the observer that counts the events of an xDS server in Istio's metrics. Times are in seconds. */
export function xdsMetrics(meter: Meter): (event: XdsEvent) => void {
  const types = boundedTypes();
  const observers = [
    streamMetrics(meter, types),
    responseMetrics(meter, types),
    rejectionMetrics(meter, types),
    limitMetrics(meter),
  ];
  return (event) => {
    for (const observe of observers) observe(event);
  };
}
