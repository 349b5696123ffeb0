import { isProxyType, unsupportedClient } from "@istiod/push-context";
import { xdsShortName } from "@istiod/resources";
import { type Clock, LineBudgets, monotonicClock, shortened } from "@istiod/runtime";
import type { ConnectEvent, NackEvent, PushEvent, XdsEvent } from "@istiod/xds-server";
import type { Logger } from "pino";
import { BoundedLines } from "@istiod/logging";

/** Events of limits. They have no stream. */
type LimitEvents = Extract<XdsEvent, { kind: "limit" | "memoryPressure" }>;

/**
 * Limits that are counted but not logged: idle clients reconnect when needed, streams above the rate limit are logged
 * as rejected, and connections that break while they are being closed end with an HTTP/2 error.
 */
const unlogged: ReadonlySet<string> = new Set(["idle_timeout", "stream_rate", "http2_error"]);

/** Returns the objects whose changes caused a revision. */
type CausesOf = (revision: number) => readonly string[];

/** Logs an event of the xDS server. */
export type XdsLog = (event: XdsEvent) => void;

/** Returns the log of xDS events, in the scope `delta` or `ads` by the variant of the protocol. */
export function xdsLog(log: Logger, causesOf: CausesOf, clock: Clock = monotonicClock): XdsLog {
  const logs = { sotw: log.child({ scope: "ads" }), delta: log.child({ scope: "delta" }) };
  const streams = new LineBudgets(clock);
  const addresses = new LineBudgets(clock);
  const bounded = new BoundedLines(clock);
  return (event) => {
    if (event.kind === "limit" || event.kind === "memoryPressure") logLimit(logs.sotw, event, bounded);
    else if (event.kind === "nack" || event.kind === "failure" || event.kind === "ignored") {
      const more = streams.of(event.connection).take();
      if (more !== undefined) logEvent(logs[event.variant], event, causesOf, more);
    } else if (event.kind === "rejected") {
      const more = addresses.of(event.peer.address).take();
      if (more !== undefined) logEvent(logs.sotw, event, causesOf, more);
    } else {
      if (event.kind === "connect") logUnsupported(logs[event.variant], event, bounded);
      const suppressed = event.kind === "disconnect" ? streams.delete(event.connection) : 0;
      logEvent(logs[event.variant], event, causesOf, suppressed === 0 ? {} : { suppressed });
    }
  };
}

/** Says that a client is not served. Such clients reconnect often, so the lines are bounded by their kind. */
function logUnsupported(log: Logger, { nodeId, peer }: ConnectEvent, bounded: BoundedLines): void {
  const [type = ""] = nodeId.split("~");
  if (!isProxyType(type)) return;
  const unsupported = unsupportedClient({ type });
  if (unsupported === undefined) return;
  const { kind, reason } = unsupported;
  bounded.write(log, "warn", `unsupported client ${kind}`, { proxy: nodeId, peer: peer.address }, reason);
}

function logLimit(log: Logger, event: LimitEvents, bounded: BoundedLines): void {
  switch (event.kind) {
    case "limit":
      if (unlogged.has(event.reason)) break;
      bounded.write(
        log,
        "warn",
        `limit ${event.reason}`,
        { peer: event.peer, reason: event.reason },
        `limit exceeded: ${event.reason}`,
      );
      break;
    case "memoryPressure":
      if (event.isHigh)
        log.error(
          { used: event.used, limit: event.limit },
          "memory threshold exceeded, rejecting new connections and closing the newest ones",
        );
      else
        log.info(
          { used: event.used, limit: event.limit },
          "memory usage below the threshold, accepting new connections",
        );
      break;
  }
}

/** @param more fields to add: the number of suppressed lines */
function logEvent(log: Logger, event: Exclude<XdsEvent, LimitEvents>, causesOf: CausesOf, more: object): void {
  switch (event.kind) {
    case "nack":
      log.warn(
        { ...rejection(event, causesOf), ...more },
        `rejected by the proxy: ${shortened(event.error.message, 4096)}`,
      );
      break;
    case "ignored":
      log.debug({ proxy: event.nodeId, type: event.typeUrl, ...more }, "unknown resource type");
      break;
    case "connect":
      log.info({ proxy: event.nodeId, connection: event.connection, variant: event.variant }, "connected");
      break;
    case "disconnect":
      log[event.cause === undefined ? "info" : "error"](
        { proxy: event.nodeId, connection: event.connection, ...errorFields(event.cause), ...more },
        `disconnected: ${event.reason}`,
      );
      break;
    case "failure":
      log.error(
        { proxy: event.nodeId, type: xdsShortName(event.typeUrl), ...errorFields(event.error), ...more },
        "generation failed, keeping the last good config",
      );
      break;
    case "rejected":
      log.warn(
        { peer: event.peer.address, code: event.code, ...errorFields(event.cause), ...more },
        `stream rejected: ${shortened(event.message)}`,
      );
      break;
    case "push":
      if (log.isLevelEnabled("debug")) log.debug(push(event, causesOf), "xds push");
      break;
  }
}

/** Maximum number of rejected resources named in a line. */
const maxNames = 20;

function rejection({ nodeId, connection, typeUrl, error }: NackEvent, causesOf: CausesOf): object {
  const { revision, resources, pending, nonce } = error;
  const cause = revision === undefined ? {} : { revision, cause: causesOf(revision) };
  const named = resources.slice(0, maxNames).map((name) => shortened(name, 256));
  return {
    proxy: nodeId,
    connection,
    type: xdsShortName(typeUrl),
    resources: named,
    // Number of other resources in the response, which are resent.
    resent: pending.length,
    nonce: shortened(nonce, 64),
    ...cause,
  };
}

/** Fields of a response, named as in Istio's log line of a push. */
function push(event: PushEvent, causesOf: CausesOf): object {
  const { nodeId, connection, typeUrl, reason, resources, removed, bytes, nonce, version, revision, changes } = event;
  const cause = changes.length > 0 ? { revision, cause: [...new Set(changes.flatMap(causesOf))] } : {};
  return {
    type: xdsShortName(typeUrl).toUpperCase(),
    reason,
    node: nodeId,
    connection,
    resources,
    removed,
    size: bytes,
    nonce,
    version,
    ...cause,
  };
}

/** The field of an internal error, with its stack. */
function errorFields(cause: unknown): { readonly err?: Error } {
  if (cause === undefined) return {};
  return { err: cause instanceof Error ? cause : new Error(String(cause)) };
}
