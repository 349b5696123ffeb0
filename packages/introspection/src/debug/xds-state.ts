import type { Proxy } from "@istiod/push-context";
import {
  clusterType,
  type Connection,
  endpointType,
  extensionConfigType,
  listenerType,
  type ResourceState,
  routeType,
  type XdsServer,
} from "@istiod/xds-server";

type ProxyOf = (connection: Connection) => Proxy;

/** `/debug/syncz`: for each proxy and type the nonce that was sent and the one that it acknowledged. */
export function syncz(server: XdsServer, proxyOf: ProxyOf, namespace: string | null): object[] {
  return sorted(server.connections(), proxyOf).flatMap((c) => {
    const proxy = proxyOf(c);
    if (namespace && proxy.namespace !== namespace) return [];
    const of = (name: string, type: string): Record<string, string | undefined> => {
      const subscription = c.subscriptions.find((s) => s.typeUrl === type);
      return { [`${name}_sent`]: subscription?.nonceSent, [`${name}_acked`]: subscription?.nonceAcked };
    };
    return [
      withoutEmpty({
        cluster_id: proxy.metadata.CLUSTER_ID,
        proxy: proxy.id,
        proxy_type: proxy.type,
        istio_version: proxy.metadata.ISTIO_VERSION,
        ...of("cluster", clusterType),
        ...of("listener", listenerType),
        ...of("route", routeType),
        ...of("endpoint", endpointType),
        ...of("extensionconfig", extensionConfigType),
        resources: Object.fromEntries(c.subscriptions.map((s) => [s.typeUrl, resourceStatus(s)])),
      }),
    ];
  });
}

function resourceStatus({
  nonceSent,
  nonceAcked,
  sentAt,
  lastError,
  unaccepted,
  unremoved,
}: Connection["subscriptions"][number]): object {
  return withoutEmpty({
    sent: nonceSent,
    acked: nonceAcked,
    sentTime: sentAt === undefined ? undefined : new Date(sentAt).toISOString(),
    lastError: lastError?.message,
    unaccepted: Object.fromEntries(unaccepted.map((resource) => [resource.name, unacceptedForm(resource)])),
    unremoved,
  });
}

/** A resource that the proxy has not acknowledged since it rejected a response with it. */
function unacceptedForm({ state, version, acceptedVersion, rejection, retryAt }: ResourceState): object {
  return withoutEmpty({
    state,
    version,
    acceptedVersion,
    reason: rejection?.reason,
    attempts: rejection?.attempts,
    retryTime: retryAt === undefined ? undefined : new Date(retryAt).toISOString(),
  });
}

/** `/debug/connections`: the connected proxies and the times of their connection. */
export function connections(server: XdsServer, proxyOf: ProxyOf): object {
  return clientsForm(sorted(server.connections(), proxyOf).map(clientForm));
}

/** Returns clients with their number. As in Istio, an empty list is omitted. */
export function clientsForm(clients: readonly object[]): object {
  return { totalClients: clients.length, ...(clients.length > 0 && { clients }) };
}

export function clientForm({ id, connectedAt, peer: { address, port } }: Connection): {
  connectionId: string;
  connectedAt: string;
  address: string;
} {
  const host = address.replace(/^::ffff:(?=\d+\.)/, "");
  return {
    connectionId: id,
    connectedAt: new Date(connectedAt).toISOString(),
    address: host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
  };
}

/** Sorts clients in Istio's order: by cluster, namespace and name. */
export function sorted(clients: readonly Connection[], proxyOf: ProxyOf): readonly Connection[] {
  const keyed = clients.map((client) => {
    const { metadata, namespace } = proxyOf(client);
    return { client, key: `${metadata.CLUSTER_ID ?? ""}\0${namespace}\0${client.node.id}` };
  });
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ client }) => client);
}

/** Omits fields that are absent, empty strings or empty objects, as Go's `omitempty` does. */
export function withoutEmpty(fields: Readonly<Record<string, unknown>>): object {
  const empty = (value: unknown): boolean =>
    value === undefined ||
    value === "" ||
    (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !empty(value)));
}
