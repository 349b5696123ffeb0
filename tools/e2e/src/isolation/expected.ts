import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { applyMeshConfig, meshConfig, meshConfigKey, readText, setObjects } from "@istiod/config-schema";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { proxyResources, resourceJson } from "@istiod/explain";
import { Database } from "@istiod/incremental";
import { clusters, type ConfigDump, listeners, routes } from "@istiod/proxy-config";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import { clusterType, listenerType, routeType } from "@istiod/resources";
import { parse } from "yaml";

/** The content of resources, as text, by `type/name`. */
export type Holdings = ReadonlyMap<string, string>;

const types = [
  { typeUrl: clusterType, name: "cluster", of: clusters },
  { typeUrl: listenerType, name: "listener", of: listeners },
  { typeUrl: routeType, name: "route", of: routes },
] as const;

/**
 * Returns what istiod would build from objects for a proxy.
 *
 * @param objects YAML
 * @param mesh mesh configuration, YAML
 */
export function generated(objects: string, mesh: string, proxy: Proxy): Holdings {
  const database = new Database<Proxy>();
  const config = applyMeshConfig(parse(mesh), { warning: () => undefined, error: () => undefined });
  if (config === undefined) throw new Error("the mesh configuration is rejected");
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, config);
    setObjects(
      tx,
      readText(objects, "objects.yaml").flatMap(({ objects }) => objects),
    );
  });
  const resources = proxyResources(database, proxy);
  return new Map(
    types.flatMap(({ typeUrl, name }) =>
      (resources.get(typeUrl) ?? []).map((resource) => [
        `${name}/${resource.name}`,
        text(resourceJson(typeUrl, resource.bytes) as JsonValue),
      ]),
    ),
  );
}

/** Returns an empty route: what an Envoy has of a deleted server while its listener drains. @param key `route/name` */
export function emptyRoute(key: string): string {
  return text({ name: key.slice("route/".length), validateClusters: false });
}

/** Returns what an Envoy has. Resources of its bootstrap are left out. */
export function held(dump: ConfigDump): Holdings {
  const fixed = staticNames(dump);
  return new Map(
    types.flatMap(({ name, of }) =>
      of(dump)
        .map(({ message, json }) => [`${name}/${message.name}`, text(json)] as const)
        .filter(([key]) => !fixed.has(key)),
    ),
  );
}

/** Returns the proxy that an Envoy's bootstrap describes. */
export function proxyOf(dump: ConfigDump): Proxy {
  const bootstrap = dump.configs.find((config) => String(config["@type"]).endsWith("BootstrapConfigDump"));
  const json = (bootstrap?.["bootstrap"] as JsonObject | undefined)?.["node"] as JsonObject;
  const node = fromJson(NodeSchema, json, { ignoreUnknownFields: true });
  return proxyFromNode({
    id: node.id,
    cluster: node.cluster,
    ...(node.metadata && { metadata: node.metadata }),
    extensions: node.extensions.map(({ name }) => name),
  });
}

function staticNames(dump: ConfigDump): ReadonlySet<string> {
  const names = new Set<string>();
  for (const config of dump.configs)
    for (const [list, kind, field] of [
      ["staticClusters", "cluster", "cluster"],
      ["staticListeners", "listener", "listener"],
      ["staticRouteConfigs", "route", "routeConfig"],
    ] as const)
      for (const entry of (config[list] ?? []) as readonly JsonObject[])
        names.add(`${kind}/${String((entry[field] as JsonObject)["name"] ?? "")}`);
  return names;
}

function text(json: JsonValue): string {
  return JSON.stringify(sorted(json));
}

/** Returns the value with sorted fields, without the type of the outermost message. */
function sorted(json: JsonValue, isOutermost = true): JsonValue {
  if (Array.isArray(json)) return json.map((item) => sorted(item, false));
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json)
      .filter(([key]) => !isOutermost || key !== "@type")
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => [key, sorted(value, false)]),
  );
}
