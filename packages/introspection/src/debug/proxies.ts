import type { ConnectedProxy } from "@istiod/replicas";
import { type Proxy, unsupportedClient } from "@istiod/push-context";
import type { Connection } from "@istiod/xds-server";

type ProxyOf = (connection: Connection) => Proxy;

/** Returns the connections of proxies. Streams that watch nothing, such as those of tools, are not proxies. */
export function proxyConnections(connections: readonly Connection[], proxyOf: ProxyOf): readonly Connection[] {
  return connections.filter((connection) => {
    if (connection.subscriptions.length > 0) return true;
    const { metadata, type } = proxyOf(connection);
    return metadata.PROXY_CONFIG !== undefined || type === "ztunnel";
  });
}

/** Returns the connected proxies, with their identity across replicas. */
export function connectedProxies(connections: readonly Connection[], proxyOf: ProxyOf): readonly ConnectedProxy[] {
  return proxyConnections(connections, proxyOf).map((connection) => {
    const proxy = proxyOf(connection);
    const { id, nodeId, type, metadata } = proxy;
    const unsupported = unsupportedClient(proxy)?.reason;
    const { CLUSTER_ID: cluster = "", ISTIO_VERSION: version = "" } = metadata;
    return {
      id: connection.id,
      node: nodeId,
      cluster,
      name: id,
      kind: type,
      version,
      connectedAt: connection.connectedAt,
      ...(unsupported !== undefined && { unsupported }),
    };
  });
}
