import { fromBinary, type JsonValue, type Registry, toJson } from "@bufbuild/protobuf";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import type { Proxy } from "@istiod/push-context";
import type { ResourceSet } from "@istiod/resources";
import { type Connection, secretType, type XdsServer } from "@istiod/xds-server";

const clusterType = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
const listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener";
const routeType = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
const extensionType = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";

/** `/debug/syncz`: for each proxy and type the nonce that was sent and the one that it acknowledged. */
export function syncz(server: XdsServer, proxyOf: (id: string) => Proxy | undefined, namespace: string | null): object[] {
  return server.connections().flatMap((c) => {
    const proxy = proxyOf(c.node.id);
    if (namespace && proxy?.namespace !== namespace) return [];
    const of = (type: string) => c.subscriptions.find((s) => s.typeUrl === type);
    return [
      {
        proxy: c.node.id,
        proxy_type: proxy?.type ?? "",
        cluster_id: proxy?.metadata.CLUSTER_ID ?? "",
        istio_version: proxy?.metadata.ISTIO_VERSION ?? "",
        cluster_sent: of(clusterType)?.nonceSent ?? "",
        cluster_acked: of(clusterType)?.nonceAcked ?? "",
        listener_sent: of(listenerType)?.nonceSent ?? "",
        listener_acked: of(listenerType)?.nonceAcked ?? "",
        route_sent: of(routeType)?.nonceSent ?? "",
        route_acked: of(routeType)?.nonceAcked ?? "",
        endpoint_sent: of(endpointType)?.nonceSent ?? "",
        endpoint_acked: of(endpointType)?.nonceAcked ?? "",
        extensionconfig_sent: of(extensionType)?.nonceSent ?? "",
        extensionconfig_acked: of(extensionType)?.nonceAcked ?? "",
        resources: Object.fromEntries(
          c.subscriptions.map((s) => [
            s.typeUrl,
            {
              sent: s.nonceSent,
              acked: s.nonceAcked,
              sent_time: s.sentAt === undefined ? "" : new Date(s.sentAt).toISOString(),
              ...(s.lastError ? { last_error: s.lastError.message } : {}),
            },
          ]),
        ),
      },
    ];
  });
}

/** `/debug/connections`: who is connected, since when. */
export function connections(server: XdsServer): object {
  const clients = server.connections();
  return {
    totalClients: clients.length,
    clients: clients.map((c) => ({ connectionId: c.id, connectedAt: new Date(c.connectedAt).toISOString(), address: `${c.peer.address}:${c.peer.port}` })),
  };
}

/** The connection of a proxy, given its node ID, its `name.namespace` or its connection ID. */
export function connectionOf(server: XdsServer, proxyId: string): Connection | undefined {
  return server.connections().findLast((c) => c.id === proxyId || c.node.id === proxyId || c.node.id.split("~")[2] === proxyId);
}

/** `/debug/config_dump`: what a proxy was last sent, in the form of Envoy's admin interface. */
export function configDump(connection: Connection, registry: Registry, withEndpoints: boolean): object {
  const sent = (type: string): { name: string; version: string; json: JsonValue }[] => resourcesIn(connection.subscriptions.find((s) => s.typeUrl === type)?.sent, type, registry);
  const versionOf = (type: string): string => connection.subscriptions.find((s) => s.typeUrl === type)?.versionSent ?? "";
  const admin = "type.googleapis.com/envoy.admin.v3";
  return {
    configs: [
      {
        "@type": `${admin}.ClustersConfigDump`,
        versionInfo: versionOf(clusterType),
        dynamicActiveClusters: sent(clusterType).map((r) => ({ versionInfo: r.version, cluster: typed(clusterType, r.json) })),
      },
      {
        "@type": `${admin}.ListenersConfigDump`,
        versionInfo: versionOf(listenerType),
        dynamicListeners: sent(listenerType).map((r) => ({ name: r.name, activeState: { versionInfo: r.version, listener: typed(listenerType, r.json) } })),
      },
      {
        "@type": `${admin}.RoutesConfigDump`,
        dynamicRouteConfigs: sent(routeType).map((r) => ({ versionInfo: r.version, routeConfig: typed(routeType, r.json) })),
      },
      ...(withEndpoints
        ? [
            {
              "@type": `${admin}.EndpointsConfigDump`,
              dynamicEndpointConfigs: sent(endpointType).map((r) => ({ versionInfo: r.version, endpointConfig: typed(endpointType, r.json) })),
            },
          ]
        : []),
      {
        "@type": `${admin}.SecretsConfigDump`,
        dynamicActiveSecrets: [...(connection.subscriptions.find((s) => s.typeUrl === secretType)?.sent ?? [])].map(({ name, version, bytes }) => ({
          name,
          versionInfo: version,
          secret: { "@type": secretType, ...withoutKeys(bytes) },
        })),
      },
    ],
  };
}

/** What may be shown of a secret: certificates; in place of a key the word that Envoy's own dump has there. */
function withoutKeys(bytes: Uint8Array): object {
  const { name, type } = fromBinary(SecretSchema, bytes);
  const shown = (source: { readonly specifier: { readonly case?: string | undefined; readonly value?: unknown } } | undefined): object | undefined =>
    source?.specifier.case === "inlineBytes" ? { inlineBytes: Buffer.from(source.specifier.value as Uint8Array).toString("base64") } : undefined;
  const redacted = { inlineBytes: Buffer.from("[redacted]").toString("base64") };
  switch (type.case) {
    case "tlsCertificate":
      return { name, tlsCertificate: { certificateChain: shown(type.value.certificateChain), privateKey: redacted } };
    case "validationContext":
      return { name, validationContext: { trustedCa: shown(type.value.trustedCa) } };
    default:
      return { name };
  }
}

function resourcesIn(set: ResourceSet | undefined, type: string, registry: Registry): { name: string; version: string; json: JsonValue }[] {
  const schema = registry.getMessage(type.slice(type.lastIndexOf("/") + 1));
  if (!set || !schema) return [];
  return [...set].map((r) => ({ name: r.name, version: r.version, json: toJson(schema, fromBinary(schema, r.bytes), { registry }) }));
}

function typed(type: string, json: JsonValue): JsonValue {
  return { "@type": type, ...(json as { [key: string]: JsonValue }) };
}
