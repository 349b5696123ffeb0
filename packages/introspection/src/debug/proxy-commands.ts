import type { Proxy } from "@istiod/push-context";
import type { Connection, XdsServer } from "@istiod/xds-server";
import type { ControlPlaneInstance } from "./control-plane.js";
import { type DebugAnswer, type DebugRequest, textAnswer } from "./command.js";

/** Istio's message, by which `istioctl` recognizes that it should ask another replica. */
export const notConnected = "Proxy not connected to this Pilot instance. It may be connected to another instance.";

/** Options of the commands about connected proxies. */
export interface ProxyCommandsOptions {
  readonly server: XdsServer;
  /** Returns the proxy of a connection, with its verified identity. */
  readonly proxyOf: (connection: Connection) => Proxy;
}

export interface StreamCommandsOptions extends ProxyCommandsOptions {
  readonly instance: ControlPlaneInstance;
  /** Serves the command that disconnects a proxy (`UNSAFE_ENABLE_ADMIN_ENDPOINTS`). */
  readonly canDisconnect: boolean;
}

/**
 * Returns the latest connection of the proxy with this node ID, `name.namespace` or connection ID; otherwise, as in
 * Istio, the latest one whose connection ID contains the text.
 */
export function connectionOf(server: Pick<XdsServer, "connections">, proxyId: string): Connection | undefined {
  const all = server.connections();
  return (
    all.findLast((c) => c.id === proxyId || c.node.id === proxyId || c.node.id.split("~")[2] === proxyId) ??
    all.findLast((c) => c.id.includes(proxyId))
  );
}

/** Answers for the proxy that `?proxyID=` names. A proxy that the caller may not see is reported as not connected. */
export function ofProxy(
  { server, proxyOf }: ProxyCommandsOptions,
  { query, namespace }: DebugRequest,
  answer: (connection: Connection) => DebugAnswer | Promise<DebugAnswer>,
): DebugAnswer | Promise<DebugAnswer> {
  const id = query.get("proxyID");
  if (!id) return textAnswer(400, "You must provide a proxyID in the query string");
  const connection = connectionOf(server, id);
  const isVisible =
    connection !== undefined && (namespace === undefined || proxyOf(connection).namespace === namespace);
  return isVisible ? answer(connection) : textAnswer(404, notConnected);
}
