import type { JsonObject } from "@bufbuild/protobuf";
import { anyJson } from "./canonical-json.js";

/** A resource that a control plane sent, or would send, to a proxy. */
export interface SentResource {
  readonly name: string;
  readonly version: string;
  /** The packed message, with its `@type`. */
  readonly resource: JsonObject;
}

/** The resources of a proxy by kind. */
export interface SentResources {
  readonly clusters: readonly SentResource[];
  /** Absent if the dump should not have a section for endpoints, like Envoy's by default. */
  readonly endpoints?: readonly SentResource[];
  readonly listeners: readonly SentResource[];
  readonly routes: readonly SentResource[];
  readonly secrets: readonly SentResource[];
  readonly extensions: readonly SentResource[];
  /** Versions of the last responses. */
  readonly clustersVersion?: string;
  readonly listenersVersion?: string;
}

/** Builds a dump in Envoy's form from the resources of a proxy. Secrets are redacted. */
export function controlPlaneDump(sent: SentResources): {
  readonly configs: readonly ({ readonly "@type": string } & JsonObject)[];
} {
  const admin = "type.googleapis.com/envoy.admin.v3";
  const packed = (resources: readonly SentResource[], field: string): JsonObject[] =>
    resources.map(({ version, resource }) => ({ versionInfo: version, [field]: resource }));
  const { endpoints, clustersVersion = "", listenersVersion = "" } = sent;
  return {
    configs: [
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
          secret: withoutSecrets(resource),
        })),
      },
      { "@type": `${admin}.EcdsConfigDump`, ecdsFilters: packed(sent.extensions, "ecdsFilter") },
    ],
  };
}

/** Replaces private keys and other secrets of a packed message by `[redacted]`. */
export function withoutSecrets(packed: JsonObject): JsonObject {
  return anyJson(packed);
}
