import type { Meter } from "@istiod/metrics";
import { type Proxy, unsupportedClient, unsupportedClientKinds } from "@istiod/push-context";

/** Counts the connected clients that are not served, by kind. */
export function unsupportedClientMetric(meter: Meter, proxies: () => Iterable<Proxy>): void {
  const about = {
    name: "istiod_unsupported_clients",
    help: "Connected clients that are not supported and get no configuration, by kind.",
    labels: ["kind"],
  };
  meter.observeGauge(about, () => {
    const counts = new Map<string, number>(unsupportedClientKinds.map((kind) => [kind, 0]));
    for (const proxy of proxies()) {
      const kind = unsupportedClient(proxy)?.kind;
      if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    return [...counts].map(([kind, value]) => ({ value, labels: { kind } }));
  });
}
