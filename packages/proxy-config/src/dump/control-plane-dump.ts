import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { anyJson } from "./canonical-json.js";
import { messageTypes, typeName } from "./registry.js";

/** A resource that a control plane sent, or would send, to a proxy. By default, its message is packed as JSON. */
export interface SentResource<R = JsonObject> {
  readonly name: string;
  readonly version: string;
  /** The packed message, with its type. */
  readonly resource: R;
}

/** The resources of a proxy by kind. */
export interface SentResources<R = JsonObject> {
  readonly clusters: readonly SentResource<R>[];
  /** Absent if the dump should not have a section for endpoints, like Envoy's by default. */
  readonly endpoints?: readonly SentResource<R>[];
  readonly listeners: readonly SentResource<R>[];
  readonly routes: readonly SentResource<R>[];
  readonly secrets: readonly SentResource<R>[];
  readonly extensions: readonly SentResource<R>[];
  /** Versions of the last responses. */
  readonly clustersVersion?: string;
  readonly listenersVersion?: string;
}

/** Builds a dump in Envoy's form from the resources of a proxy. Secrets are redacted. */
export function controlPlaneDump(sent: SentResources): {
  readonly configs: readonly ({ readonly "@type": string } & JsonObject)[];
} {
  const secrets = sent.secrets.map((secret) => ({ ...secret, resource: withoutSecrets(secret.resource) }));
  return { configs: sections({ ...sent, secrets }) as readonly ({ readonly "@type": string } & JsonObject)[] };
}

/** Builds the encoded messages of the same dump. The secrets must be redacted by the caller. */
export function controlPlaneDumpMessages(
  sent: SentResources<Any>,
): readonly { readonly typeUrl: string; readonly bytes: Uint8Array }[] {
  return sections(sent).map(({ "@type": typeUrl, ...fields }) => {
    const schema = messageTypes().getMessage(typeName(typeUrl));
    if (schema === undefined) throw new Error(`no message ${typeUrl}`);
    return { typeUrl, bytes: toBinary(schema, create(schema, fields)) };
  });
}

type Section = { readonly "@type": string } & Readonly<Record<string, unknown>>;

/** Returns the sections of a dump, whose fields have the names of JSON and of messages alike. */
function sections<R>(sent: SentResources<R>): readonly Section[] {
  const admin = "type.googleapis.com/envoy.admin.v3";
  const packed = (resources: readonly SentResource<R>[], field: string): object[] =>
    resources.map(({ version, resource }) => ({ versionInfo: version, [field]: resource }));
  const { endpoints, clustersVersion = "", listenersVersion = "" } = sent;
  return [
    { "@type": `${admin}.BootstrapConfigDump` },
    {
      "@type": `${admin}.ClustersConfigDump`,
      versionInfo: clustersVersion,
      dynamicActiveClusters: packed(sent.clusters, "cluster"),
    },
    ...(endpoints === undefined
      ? []
      : [{ "@type": `${admin}.EndpointsConfigDump`, dynamicEndpointConfigs: packed(endpoints, "endpointConfig") }]),
    {
      "@type": `${admin}.ListenersConfigDump`,
      versionInfo: listenersVersion,
      dynamicListeners: sent.listeners.map(({ name, version, resource }) => ({
        name,
        activeState: { versionInfo: version, listener: resource },
      })),
    },
    { "@type": `${admin}.ScopedRoutesConfigDump` },
    { "@type": `${admin}.RoutesConfigDump`, dynamicRouteConfigs: packed(sent.routes, "routeConfig") },
    {
      "@type": `${admin}.SecretsConfigDump`,
      dynamicActiveSecrets: sent.secrets.map(({ name, version, resource }) => ({
        name,
        versionInfo: version,
        secret: resource,
      })),
    },
    { "@type": `${admin}.EcdsConfigDump`, ecdsFilters: packed(sent.extensions, "ecdsFilter") },
  ];
}

/** Replaces private keys and other secrets of a packed message by `[redacted]`. */
export function withoutSecrets(packed: JsonObject): JsonObject {
  return anyJson(packed);
}
