import { Code } from "@connectrpc/connect";
import { xdsShortName, xdsType } from "@istiod/resources";
import type { ConnectEvent, XdsEvent } from "@istiod/xds-server";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Clients may request any type URL: types without a short name beyond this number are counted as `other`. */
const otherTypes = 32;

function boundedTypes(): (typeUrl: string) => string {
  const others = new Set<string>();
  return (typeUrl) => {
    if (xdsType(typeUrl)?.shortName !== undefined || others.has(typeUrl)) return typeUrl;
    if (others.size >= otherTypes) return "other";
    others.add(typeUrl);
    return typeUrl;
  };
}

/** Reason of disconnecting a client that does not read. */
const sendTimeout = /^send timeout/;

/**
 * Metrics of the xDS server with Istio's names and meanings; times are in seconds. Gives the observer that feeds them.
 */
export function xdsMetrics(registry: Registry): (event: XdsEvent) => void {
  const registers = [registry];
  const buckets = [0.01, 0.1, 0.5, 1, 3, 5, 10, 20, 30];
  const streams = new Map<string, { readonly nodeId: string; readonly version: string }>();
  new Gauge({
    name: "pilot_xds",
    help: "Proxies connected over xDS, by Istio version.",
    labelNames: ["version"],
    registers,
    collect() {
      this.reset();
      for (const { version } of streams.values()) this.inc({ version });
    },
  });
  const pushes = new Counter({
    name: "pilot_xds_pushes",
    help: "Responses sent, by type; `…_senderr`: those that a client did not take in time.",
    labelNames: ["type"],
    registers,
  });
  const pushTime = new Histogram({
    name: "pilot_xds_push_time",
    help: "Seconds that a response took to build, by type.",
    labelNames: ["type"],
    buckets,
    registers,
  });
  const queueTime = new Histogram({
    name: "pilot_proxy_queue_time",
    help: "Seconds from a change to a proxy's turn.",
    buckets: buckets.slice(1),
    registers,
  });
  const convergence = new Histogram({
    name: "pilot_proxy_convergence_time",
    help: "Seconds from a change to all that it means for a proxy having been sent.",
    buckets: buckets.slice(1),
    registers,
  });
  const size = new Histogram({
    name: "pilot_xds_config_size_bytes",
    help: "Bytes of responses, by type URL.",
    labelNames: ["type"],
    buckets: [1, 10_000, 1_000_000, 4_000_000, 10_000_000, 40_000_000],
    registers,
  });
  const expired = new Counter({
    name: "pilot_xds_expired_nonce",
    help: "Requests with a nonce that is not the last, by type.",
    labelNames: ["type"],
    registers,
  });
  const rejects = new Counter({
    name: "pilot_total_xds_rejects",
    help: "Responses that proxies refused, by type.",
    labelNames: ["type"],
    registers,
  });
  const rejectsOf = new Map(
    ["cds", "eds", "lds", "rds"].map((t) => [
      t,
      new Gauge({
        name: `pilot_xds_${t}_reject`,
        help: `Refused ${t} responses, by proxy and error code.`,
        labelNames: ["node", "err"],
        registers,
      }),
    ]),
  );
  const received = new Gauge({ name: "pilot_xds_recv_max", help: "Bytes of the largest request.", registers });
  const ackTime = new Histogram({
    name: "istiod_xds_ack_seconds",
    help: "Seconds from sending a response to its acknowledgement, by type.",
    labelNames: ["type"],
    buckets,
    registers,
  });
  const sendTime = new Histogram({
    name: "pilot_xds_send_time",
    help: "Seconds from handing responses to the transport until the client's side has taken them.",
    buckets: [0.01, 0.1, 1, 3, 5, 10, 20, 30],
    registers,
  });
  const writeTimeouts = new Counter({
    name: "pilot_xds_write_timeout",
    help: "Clients disconnected because of a send timeout.",
    registers,
  });
  const internalErrors = new Counter({
    name: "pilot_total_xds_internal_errors",
    help: "Internal errors of the xDS server.",
    registers,
  });
  /**
   * By node, the labels of what it refused: gone with its last stream, or there would be some for each pod that ever
   * was.
   */
  const refusals = new Map<string, Map<string, () => void>>();
  const refused = (node: string, type: string, err: string): void => {
    const gauge = rejectsOf.get(type);
    if (gauge === undefined) return;
    gauge.inc({ node, err });
    const removals = refusals.get(node) ?? new Map<string, () => void>();
    refusals.set(
      node,
      removals.set(`${type} ${err}`, () => gauge.remove({ node, err })),
    );
  };
  const gone = (node: string): void => {
    const removals = refusals.get(node);
    if (removals === undefined || [...streams.values()].some(({ nodeId }) => nodeId === node)) return;
    for (const remove of removals.values()) remove();
    refusals.delete(node);
  };
  const bounded = boundedTypes();
  const typeOf = (typeUrl: string): string => xdsShortName(bounded(typeUrl));
  let largest = 0;
  /** The type of the last response to each stream, for the one that is not taken. */
  const lastSent = new Map<string, string>();
  return (event) => {
    switch (event.kind) {
      case "connect":
        streams.set(event.connection, { nodeId: event.nodeId, version: versionOf(event.node) });
        break;
      case "disconnect":
        streams.delete(event.connection);
        if (sendTimeout.test(event.reason)) {
          writeTimeouts.inc();
          const type = lastSent.get(event.connection) ?? "";
          if (rejectsOf.has(type)) pushes.inc({ type: `${type}_senderr` });
        }
        lastSent.delete(event.connection);
        gone(event.nodeId);
        break;
      case "failure":
        internalErrors.inc();
        break;
      case "refused":
        if (event.code === "Internal") internalErrors.inc();
        break;
      case "request":
        if (event.bytes !== undefined && event.bytes > largest) received.set((largest = event.bytes));
        if (event.stale) expired.inc({ type: typeOf(event.typeUrl) });
        break;
      case "push": {
        const type = typeOf(event.typeUrl);
        pushes.inc({ type });
        pushTime.observe({ type }, event.buildMs / 1000);
        size.observe({ type: bounded(event.typeUrl) }, event.bytes);
        lastSent.set(event.connection, type);
        break;
      }
      case "ack":
        ackTime.observe({ type: typeOf(event.typeUrl) }, event.afterMs / 1000);
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
      case "nack": {
        const type = typeOf(event.typeUrl);
        rejects.inc({ type });
        refused(event.nodeId, type, codeName(event.error.code));
        break;
      }
    }
  };
}

/** A gRPC status code as Go names it; clients may refuse without one. */
function codeName(code: number): string {
  return code === 0 ? "OK" : (Code[code] ?? `Code(${code})`);
}

function versionOf({ metadata }: ConnectEvent["node"]): string {
  const version = metadata?.["ISTIO_VERSION"];
  return typeof version === "string" && version !== "" ? version : "unknown";
}
