import { Code } from "@connectrpc/connect";
import type { Gauge, Meter } from "@istiod/metrics";
import type { XdsEvent } from "@istiod/xds-server";
import type { TypeLabels } from "./type-labels.js";

/**
 * Returns the observer that counts NACKs. A rejection counts once: not those of responses that isolate what was
 * rejected, or try it again.
 */
export function rejectionMetrics(meter: Meter, types: TypeLabels): (event: XdsEvent) => void {
  const rejects = meter.counter({
    name: "pilot_total_xds_rejects",
    help: "Responses that proxies rejected, by type.",
    labels: ["type"],
  });
  const rejections = new Rejections(meter);
  return (event) => {
    switch (event.kind) {
      case "connect":
        rejections.connected(event.nodeId);
        break;
      case "disconnect":
        rejections.disconnected(event.nodeId);
        break;
      case "nack": {
        if (event.isRetry === true) break;
        const type = types.shortName(event.typeUrl);
        rejects.add({ type });
        rejections.rejected(event.nodeId, type, codeName(event.error.code));
        break;
      }
    }
  };
}

/** The name of a gRPC status code in Go. Clients may reject without a code, or with any number. */
function codeName(code: number): string {
  return code === 0 ? "OK" : (Code[code] ?? "Code(other)");
}

/** The gauges with a label for the node. Series of a node end with its last stream, so that their number is bounded. */
class Rejections {
  readonly #gauges: ReadonlyMap<string, Gauge>;
  readonly #nodes = new Map<string, { streams: number; readonly removals: Map<string, () => void> }>();

  constructor(meter: Meter) {
    this.#gauges = new Map(
      ["cds", "eds", "lds", "rds"].map((type) => [
        type,
        meter.gauge({
          name: `pilot_xds_${type}_reject`,
          help: `Rejected ${type} responses, by proxy and error code.`,
          labels: ["node", "err"],
        }),
      ]),
    );
  }

  connected(node: string): void {
    const state = this.#nodes.get(node);
    if (state === undefined) this.#nodes.set(node, { streams: 1, removals: new Map() });
    else state.streams++;
  }

  disconnected(node: string): void {
    const state = this.#nodes.get(node);
    if (state === undefined || --state.streams > 0) return;
    for (const remove of state.removals.values()) remove();
    this.#nodes.delete(node);
  }

  rejected(node: string, type: string, err: string): void {
    const gauge = this.#gauges.get(type);
    if (gauge === undefined) return;
    gauge.add({ node, err });
    this.#nodes.get(node)?.removals.set(`${type} ${err}`, () => gauge.remove({ node, err }));
  }
}
