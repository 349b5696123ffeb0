import { xdsShortName } from "@istiod/resources";
import type { NackEvent, PushEvent, XdsEvent } from "@istiod/xds-server";
import type { Logger } from "pino";

/** Returns the objects whose change made a revision. */
type CausesOf = (revision: number) => readonly string[];

/** Logs an event of the xDS server. */
export type XdsLog = (event: XdsEvent) => void;

/** Returns the log of xDS events, in the scope `delta` or `ads` by the variant of the protocol. */
export function xdsLog(log: Logger, causesOf: CausesOf): XdsLog {
  const logs = { sotw: log.child({ scope: "ads" }), delta: log.child({ scope: "delta" }) };
  return (event) => logEvent(logs[event.kind === "rejected" ? "sotw" : event.variant], event, causesOf);
}

function logEvent(log: Logger, event: XdsEvent, causesOf: CausesOf): void {
  switch (event.kind) {
    case "nack":
      log.warn(rejection(event, causesOf), `rejected by the proxy: ${event.error.message}`);
      break;
    case "connect":
      log.info({ proxy: event.nodeId, connection: event.connection, variant: event.variant }, "connected");
      break;
    case "disconnect":
      log[event.cause === undefined ? "info" : "error"](
        { proxy: event.nodeId, connection: event.connection, ...errorFields(event.cause) },
        `disconnected: ${event.reason}`,
      );
      break;
    case "failure":
      log.error(
        { proxy: event.nodeId, type: xdsShortName(event.typeUrl), ...errorFields(event.error) },
        "generation failed, keeping the last good config",
      );
      break;
    case "rejected":
      log.warn(
        { peer: event.peer.address, code: event.code, ...errorFields(event.cause) },
        `stream rejected: ${event.message}`,
      );
      break;
    case "push":
      if (log.isLevelEnabled("debug")) log.debug(push(event, causesOf), "xds push");
      break;
  }
}

function rejection({ nodeId, connection, typeUrl, error }: NackEvent, causesOf: CausesOf): object {
  const { revision, resources, nonce } = error;
  const cause = revision === undefined ? {} : { revision, cause: causesOf(revision) };
  return { proxy: nodeId, connection, type: xdsShortName(typeUrl), resources, nonce, ...cause };
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
