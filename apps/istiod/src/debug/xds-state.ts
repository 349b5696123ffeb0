import type { Proxy } from "@istiod/push-context";
import { clusterType, type Connection, endpointType, extensionConfigType, listenerType, routeType, type XdsServer } from "@istiod/xds-server";

/** `/debug/syncz`: for each proxy and type the nonce that was sent and the one that it acknowledged. */
export function syncz(server: XdsServer, proxyOf: (connection: Connection) => Proxy, namespace: string | null): object[] {
  return server.connections().flatMap((c) => {
    const proxy = proxyOf(c);
    if (namespace && proxy.namespace !== namespace) return [];
    const of = (type: string): Connection["subscriptions"][number] | undefined => c.subscriptions.find((s) => s.typeUrl === type);
    return [
      {
        proxy: c.node.id,
        proxy_type: proxy.type,
        cluster_id: proxy.metadata.CLUSTER_ID ?? "",
        istio_version: proxy.metadata.ISTIO_VERSION ?? "",
        cluster_sent: of(clusterType)?.nonceSent ?? "",
        cluster_acked: of(clusterType)?.nonceAcked ?? "",
        listener_sent: of(listenerType)?.nonceSent ?? "",
        listener_acked: of(listenerType)?.nonceAcked ?? "",
        route_sent: of(routeType)?.nonceSent ?? "",
        route_acked: of(routeType)?.nonceAcked ?? "",
        endpoint_sent: of(endpointType)?.nonceSent ?? "",
        endpoint_acked: of(endpointType)?.nonceAcked ?? "",
        extensionconfig_sent: of(extensionConfigType)?.nonceSent ?? "",
        extensionconfig_acked: of(extensionConfigType)?.nonceAcked ?? "",
        resources: Object.fromEntries(c.subscriptions.map((s) => [s.typeUrl, resourceStatus(s)])),
      },
    ];
  });
}

function resourceStatus({ nonceSent, nonceAcked, sentAt, lastError }: Connection["subscriptions"][number]): object {
  return {
    sent: nonceSent,
    acked: nonceAcked,
    ...(sentAt === undefined ? {} : { sentTime: new Date(sentAt).toISOString() }),
    ...(lastError ? { lastError: lastError.message } : {}),
  };
}

/** `/debug/connections`: who is connected, since when. */
export function connections(server: XdsServer): object {
  const clients = server.connections();
  return {
    totalClients: clients.length,
    clients: clients.map((c) => ({ connectionId: c.id, connectedAt: new Date(c.connectedAt).toISOString(), address: `${c.peer.address}:${c.peer.port}` })),
  };
}
