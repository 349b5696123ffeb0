import type { Meter } from "@istiod/metrics";
import type { ConnectEvent, XdsEvent } from "@istiod/xds-server";
import type { TypeLabels } from "./type-labels.js";

/** Clients may report any version: at most this many are counted by name, of at most this length. */
const maxVersions = 64;
const maxVersionLength = 64;
const otherVersions = "other";

/** Returns the observer that counts streams, their requests and the internal errors of the server. */
export function streamMetrics(meter: Meter, types: TypeLabels): (event: XdsEvent) => void {
  const versions = new Map<string, string>();
  meter.observeGauge(
    { name: "pilot_xds", help: "Proxies connected over xDS, by Istio version.", labels: ["version"] },
    () => [...countBy(versions.values())].map(([version, value]) => ({ value, labels: { version } })),
  );
  const expired = meter.counter({
    name: "pilot_xds_expired_nonce",
    help: "Requests with a nonce that is not the last, by type.",
    labels: ["type"],
  });
  const received = meter.gauge({ name: "pilot_xds_recv_max", help: "Bytes of the largest request." });
  const internalErrors = meter.counter({
    name: "pilot_total_xds_internal_errors",
    help: "Internal errors of the xDS server.",
  });
  const ignored = meter.counter({
    name: "istiod_xds_unknown_type_requests_total",
    help: "Requests of resource types that istiod does not serve.",
  });
  const ended = meter.counter({
    name: "istiod_xds_limited_streams_total",
    help: "Streams that were ended because they exceeded a limit.",
  });
  let largest = 0;
  return (event) => {
    switch (event.kind) {
      case "connect":
        versions.set(event.connection, versionOf(event.node));
        break;
      case "disconnect":
        versions.delete(event.connection);
        if (event.code === "ResourceExhausted") ended.add();
        break;
      case "ignored":
        ignored.add();
        break;
      case "failure":
        internalErrors.add();
        break;
      case "rejected":
        if (event.code === "Internal") internalErrors.add();
        break;
      case "request":
        if (event.bytes !== undefined && event.bytes > largest) received.set((largest = event.bytes));
        if (event.stale) expired.add({ type: types.shortName(event.typeUrl) });
        break;
    }
  };
}

function countBy(values: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) {
    const counted = counts.has(value) || counts.size < maxVersions ? value : otherVersions;
    counts.set(counted, (counts.get(counted) ?? 0) + 1);
  }
  return counts;
}

function versionOf({ metadata }: ConnectEvent["node"]): string {
  const version = metadata?.["ISTIO_VERSION"];
  if (typeof version !== "string" || version === "") return "unknown";
  return version.length <= maxVersionLength ? version : otherVersions;
}
