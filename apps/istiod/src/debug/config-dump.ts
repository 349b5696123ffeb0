import { fromBinary, type JsonObject, type Registry, toJson } from "@bufbuild/protobuf";
import { controlPlaneDump, withoutSecrets } from "@istiod/proxy-config";
import {
  clusterType,
  type Connection,
  endpointType,
  extensionConfigType,
  listenerType,
  routeType,
  secretType,
} from "@istiod/xds-server";

/** Returns the resources of a type that were last sent to a proxy, decoded. Secrets are redacted. */
export function resourcesSent(
  connection: Connection,
  typeUrl: string,
  registry: Registry,
): { readonly name: string; readonly version: string; readonly resource: JsonObject }[] {
  const sent = connection.subscriptions.find((s) => s.typeUrl === typeUrl)?.sent;
  const schema = registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
  if (sent === undefined || schema === undefined) return [];
  return [...sent].map(({ name, version, bytes }) => {
    const json = toJson(schema, fromBinary(schema, bytes), { registry }) as JsonObject;
    const resource = { "@type": typeUrl, ...json };
    return { name, version, resource: typeUrl === secretType ? withoutSecrets(resource) : resource };
  });
}

/** Returns the resources that were last sent to a proxy in the format of Envoy's `/config_dump`. */
export function configDump(
  connection: Connection,
  registry: Registry,
  withEndpoints: boolean,
): ReturnType<typeof controlPlaneDump> {
  const sent = (type: string): ReturnType<typeof resourcesSent> => resourcesSent(connection, type, registry);
  const versionOf = (type: string): string =>
    connection.subscriptions.find((s) => s.typeUrl === type)?.versionSent ?? "";
  return controlPlaneDump({
    clusters: sent(clusterType),
    clustersVersion: versionOf(clusterType),
    ...(withEndpoints && { endpoints: sent(endpointType) }),
    listeners: sent(listenerType),
    listenersVersion: versionOf(listenerType),
    routes: sent(routeType),
    secrets: sent(secretType),
    extensions: sent(extensionConfigType),
  });
}
