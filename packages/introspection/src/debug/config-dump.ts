import { create, fromBinary, fromJson, type JsonObject, type Registry, toJson } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { controlPlaneDump, controlPlaneDumpMessages, type SentResource, withoutSecrets } from "@istiod/proxy-config";
import type { Resource } from "@istiod/resources";
import { pauseEvery } from "@istiod/runtime";
import {
  type Answer,
  clusterType,
  type Connection,
  endpointType,
  extensionConfigType,
  listenerType,
  routeType,
  secretType,
} from "@istiod/xds-server";

/** Types whose resources may contain secrets: extension configurations have the pull secrets of Wasm modules. */
const typesWithSecrets: ReadonlySet<string> = new Set([secretType, extensionConfigType]);

/** Milliseconds of a turn of the event loop in which resources are decoded. */
const sliceMs = 20;

/** Returns the resources of types that were last sent to a proxy, decoded, by type. Secrets are redacted. */
export async function resourcesSent(
  connection: Connection,
  typeUrls: readonly string[],
  registry: Registry,
): Promise<SentResource[][]> {
  const pause = pauseEvery(sliceMs);
  const lists: SentResource[][] = [];
  for (const typeUrl of typeUrls) {
    const list: SentResource[] = [];
    lists.push(list);
    const schema = registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
    if (schema === undefined) continue;
    for (const { name, version, bytes } of encodedResources(connection, typeUrl)) {
      await pause();
      const json = toJson(schema, fromBinary(schema, bytes), { registry }) as JsonObject;
      const resource = { "@type": typeUrl, ...json };
      list.push({ name, version, resource: typesWithSecrets.has(typeUrl) ? withoutSecrets(resource) : resource });
    }
  }
  return lists;
}

/** Returns the resources that were last sent to a proxy in the format of Envoy's `/config_dump`. */
export async function configDump(
  connection: Connection,
  registry: Registry,
  withEndpoints: boolean,
): Promise<ReturnType<typeof controlPlaneDump>> {
  const types = [clusterType, listenerType, routeType, secretType, extensionConfigType];
  const [clusters = [], listeners = [], routes = [], secrets = [], extensions = [], endpoints = []] =
    await resourcesSent(connection, withEndpoints ? [...types, endpointType] : types, registry);
  return controlPlaneDump({
    clusters,
    clustersVersion: versionOf(connection, clusterType),
    ...(withEndpoints && { endpoints }),
    listeners,
    listenersVersion: versionOf(connection, listenerType),
    routes,
    secrets,
    extensions,
  });
}

/** Returns the messages of the same dump, without endpoints. Only types with secrets are decoded, and redacted. */
export async function configDumpMessages(connection: Connection, registry: Registry): Promise<Answer["resources"]> {
  const sent = (typeUrl: string): SentResource<Any>[] =>
    encodedResources(connection, typeUrl).map(({ name, version, bytes }) => ({
      name,
      version,
      resource: create(AnySchema, { typeUrl, value: bytes }),
    }));
  const redacted = async (typeUrl: string): Promise<SentResource<Any>[]> => {
    const [sentResources = []] = await resourcesSent(connection, [typeUrl], registry);
    return sentResources.map(({ resource, ...rest }) => ({
      ...rest,
      resource: fromJson(AnySchema, resource, { registry }),
    }));
  };
  const messages = controlPlaneDumpMessages({
    clusters: sent(clusterType),
    clustersVersion: versionOf(connection, clusterType),
    listeners: sent(listenerType),
    listenersVersion: versionOf(connection, listenerType),
    routes: sent(routeType),
    secrets: await redacted(secretType),
    extensions: await redacted(extensionConfigType),
  });
  return messages.map((message) => ({ name: "", ...message }));
}

function encodedResources(connection: Connection, typeUrl: string): readonly Resource[] {
  return [...(connection.subscriptions.find((s) => s.typeUrl === typeUrl)?.sent ?? [])];
}

function versionOf(connection: Connection, typeUrl: string): string {
  return connection.subscriptions.find((s) => s.typeUrl === typeUrl)?.versionSent ?? "";
}
