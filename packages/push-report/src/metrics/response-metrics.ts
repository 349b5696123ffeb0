import type { Meter } from "@istiod/metrics";
import type { XdsEvent } from "@istiod/xds-server";
import type { TypeLabels } from "./type-labels.js";

/** The reason of disconnecting a client that does not read. */
const sendTimeout = /^send timeout/;
/** Types whose responses that were not read in time are counted. */
const typesWithSendErrors: ReadonlySet<string> = new Set(["cds", "eds", "lds", "rds"]);
const seconds = [0.01, 0.1, 0.5, 1, 3, 5, 10, 20, 30];

/** Returns the observer that counts responses and the times from a change to its acknowledgement. */
export function responseMetrics(meter: Meter, types: TypeLabels): (event: XdsEvent) => void {
  const { pushes, pushTime, queueTime, convergence, size, ackTime, sendTime, writeTimeouts } = instruments(meter);
  /** Type of the last response to each stream. */
  const lastSent = new Map<string, string>();
  return (event) => {
    switch (event.kind) {
      case "push": {
        const type = types.shortName(event.typeUrl);
        pushes.add({ type });
        pushTime.observe(event.buildMs / 1000, { type });
        size.observe(event.bytes, { type: types.typeUrl(event.typeUrl) });
        lastSent.set(event.connection, type);
        break;
      }
      case "disconnect":
        if (sendTimeout.test(event.reason)) {
          writeTimeouts.add();
          const type = lastSent.get(event.connection) ?? "";
          if (typesWithSendErrors.has(type)) pushes.add({ type: `${type}_senderr` });
        }
        lastSent.delete(event.connection);
        break;
      case "ack":
        ackTime.observe(event.afterMs / 1000, { type: types.shortName(event.typeUrl) });
        break;
      case "pushStart":
        queueTime.observe(event.queueMs / 1000);
        break;
      case "pushEnd":
        convergence.observe(event.sinceMs / 1000);
        break;
      case "sent":
        sendTime.observe(event.afterMs / 1000);
        break;
    }
  };
}

function instruments(meter: Meter) {
  return {
    pushes: meter.counter({
      name: "pilot_xds_pushes",
      help: "Responses sent, by type; `…_senderr`: responses that a client did not read in time.",
      labels: ["type"],
    }),
    pushTime: meter.histogram({
      name: "pilot_xds_push_time",
      help: "Seconds that a response took to build, by type.",
      labels: ["type"],
      buckets: seconds,
    }),
    queueTime: meter.histogram({
      name: "pilot_proxy_queue_time",
      help: "Seconds from a change to the start of its push to a proxy.",
      buckets: seconds.slice(1),
    }),
    convergence: meter.histogram({
      name: "pilot_proxy_convergence_time",
      help: "Seconds from a change until all its responses to a proxy were sent.",
      buckets: seconds.slice(1),
    }),
    size: meter.histogram({
      name: "pilot_xds_config_size_bytes",
      help: "Bytes of responses, by type URL.",
      labels: ["type"],
      buckets: [1, 10_000, 1_000_000, 4_000_000, 10_000_000, 40_000_000],
    }),
    ackTime: meter.histogram({
      name: "istiod_xds_ack_seconds",
      help: "Seconds from sending a response to its acknowledgement, by type.",
      labels: ["type"],
      buckets: seconds,
    }),
    sendTime: meter.histogram({
      name: "pilot_xds_send_time",
      help: "Seconds from handing responses to the transport until they were written to the network.",
      buckets: [0.01, 0.1, 1, 3, 5, 10, 20, 30],
    }),
    writeTimeouts: meter.counter({
      name: "pilot_xds_write_timeout",
      help: "Clients disconnected because of a send timeout.",
    }),
  };
}
