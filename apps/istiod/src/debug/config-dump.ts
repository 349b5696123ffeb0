import { fromBinary, type JsonObject, type Registry, toJson } from "@bufbuild/protobuf";
import { clusterType, type Connection, endpointType, extensionConfigType, listenerType, routeType, secretType } from "@istiod/xds-server";

const nameTableType = "type.googleapis.com/istio.networking.nds.v1.NameTable";
const byShortName = new Map([
  ["cds", clusterType],
  ["eds", endpointType],
  ["lds", listenerType],
  ["rds", routeType],
  ["sds", secretType],
  ["ecds", extensionConfigType],
  ["nds", nameTableType],
]);

/** The URL of a type that is given by its short name or its URL. */
export function typeUrlOf(name: string): string | undefined {
  return byShortName.get(name.toLowerCase()) ?? [...byShortName.values()].find((url) => url === name);
}

/** What a proxy was last sent of a type, decoded; secrets without their secrets. */
export function resourcesSent(connection: Connection, typeUrl: string, registry: Registry): { readonly name: string; readonly version: string; readonly resource: JsonObject }[] {
  const sent = connection.subscriptions.find((s) => s.typeUrl === typeUrl)?.sent;
  const schema = registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
  if (sent === undefined || schema === undefined) return [];
  return [...sent].map(({ name, version, bytes }) => {
    const json = toJson(schema, fromBinary(schema, bytes), { registry }) as JsonObject;
    return { name, version, resource: { "@type": typeUrl, ...(typeUrl === secretType ? (redacted(json) as JsonObject) : json) } };
  });
}

/** What a proxy was last sent, in the form of Envoy's admin interface. */
export function configDump(connection: Connection, registry: Registry, withEndpoints: boolean): { readonly configs: readonly ({ readonly "@type": string } & JsonObject)[] } {
  const sent = (type: string): ReturnType<typeof resourcesSent> => resourcesSent(connection, type, registry);
  const versionOf = (type: string): string => connection.subscriptions.find((s) => s.typeUrl === type)?.versionSent ?? "";
  const admin = "type.googleapis.com/envoy.admin.v3";
  return {
    configs: [
      { "@type": `${admin}.BootstrapConfigDump` },
      {
        "@type": `${admin}.ClustersConfigDump`,
        versionInfo: versionOf(clusterType),
        dynamicActiveClusters: sent(clusterType).map((r) => ({ versionInfo: r.version, cluster: r.resource })),
      },
      ...(withEndpoints ? [{ "@type": `${admin}.EndpointsConfigDump`, dynamicEndpointConfigs: sent(endpointType).map((r) => ({ versionInfo: r.version, endpointConfig: r.resource })) }] : []),
      {
        "@type": `${admin}.ListenersConfigDump`,
        versionInfo: versionOf(listenerType),
        dynamicListeners: sent(listenerType).map((r) => ({ name: r.name, activeState: { versionInfo: r.version, listener: r.resource } })),
      },
      { "@type": `${admin}.ScopedRoutesConfigDump` },
      { "@type": `${admin}.RoutesConfigDump`, dynamicRouteConfigs: sent(routeType).map((r) => ({ versionInfo: r.version, routeConfig: r.resource })) },
      { "@type": `${admin}.SecretsConfigDump`, dynamicActiveSecrets: sent(secretType).map((r) => ({ name: r.name, versionInfo: r.version, secret: r.resource })) },
      { "@type": `${admin}.EcdsConfigDump`, ecdsFilters: sent(extensionConfigType).map((r) => ({ versionInfo: r.version, ecdsFilter: r.resource })) },
    ],
  };
}

const secretFields = new Set(["privateKey", "privateKeyProvider", "password", "sessionTicketKeys", "genericSecret"]);

/** A secret as JSON, with what is secret in it replaced as Envoy's admin interface does. */
function redacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== "object" || value === null) return value;
  const inline = { inlineBytes: Buffer.from("[redacted]").toString("base64") };
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, secretFields.has(key) ? inline : redacted(of)]));
}
