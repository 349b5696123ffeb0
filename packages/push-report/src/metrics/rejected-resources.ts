import type { Meter } from "@istiod/metrics";
import { xdsShortName } from "@istiod/resources";
import type { XdsServer } from "@istiod/xds-server";

/** Registers the gauge of resources that connected proxies reject now. */
export function rejectedResourceMetrics(meter: Meter, server: Pick<XdsServer, "rejectedResources">): void {
  meter.observeGauge(
    {
      name: "istiod_rejected_resources",
      help: "Resources that connected proxies reject now, by type. One that several proxies reject counts once.",
      labels: ["type"],
    },
    () =>
      [...server.rejectedResources()].map(([typeUrl, names]) => ({
        value: names.size,
        labels: { type: xdsShortName(typeUrl) },
      })),
  );
}
