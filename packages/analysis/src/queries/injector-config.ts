import { configMaps, namespaces } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";

/** Settings of a sidecar injector. */
export interface InjectorConfig {
  /** True if namespaces without an injection label are injected. */
  readonly enabledByDefault: boolean;
  /**
   * The injected proxy image without the suffix of an image type; undefined if the settings do not specify it.
   */
  readonly image: string | undefined;
  /** Inbound ports that are redirected to proxies and those that are not, unless a Pod has an annotation for it. */
  readonly inboundPorts: InboundPorts;
}

/** Lists of ports, separated by commas; `*` are all. Absent if a list is not set. */
export interface InboundPorts {
  readonly included?: string;
  readonly excluded?: string;
}

const prefix = "istio-sidecar-injector";

const injectors = index(configMaps, "injectors", ({ cluster, name }) =>
  name.startsWith(prefix) ? [`${cluster}/${name}`] : [],
);

const configOf = query("injectorConfig", (q, bucket: string): InjectorConfig | undefined => {
  const [configMap] = q.read(injectors, bucket);
  if (configMap === undefined) return undefined;
  const values = parseObject(configMap.spec.data["values"]);
  const global = member(values, "global");
  const proxy = member(global, "proxy");
  return {
    enabledByDefault: member(values, "sidecarInjectorWebhook")?.["enableNamespacesByDefault"] === true,
    image: imageOf(text(proxy?.["image"]), text(global?.["hub"]), text(global?.["tag"])),
    inboundPorts: {
      ...listOf("included", proxy?.["includeInboundPorts"]),
      ...listOf("excluded", proxy?.["excludeInboundPorts"]),
    },
  };
});

function listOf(name: keyof InboundPorts, value: unknown): InboundPorts {
  return typeof value === "string" || typeof value === "number" ? { [name]: String(value) } : {};
}

/** Returns the settings of a revision's injector; undefined if its ConfigMap does not exist. */
export function injectorConfig(q: QueryContext, cluster: string, revision: string): InjectorConfig | undefined {
  return q.call(configOf, `${cluster}/${revision === "" || revision === "default" ? prefix : `${prefix}-${revision}`}`);
}

/** Returns the settings of the injector of a namespace; undefined if its ConfigMap does not exist. */
export function injectorOf(
  q: QueryContext,
  { cluster, namespace }: { readonly cluster: string; readonly namespace: string },
): InjectorConfig | undefined {
  const labels = q.read(namespaces, `${cluster}/${namespace}`)?.labels;
  return injectorConfig(q, cluster, labels?.["istio.io/rev"] ?? "");
}

/** Returns the full image name. Hub and tag are added unless the image contains them. */
function imageOf(image: string, hub: string, tag: string): string | undefined {
  if (image.includes("/")) return image;
  return image === "" || hub === "" || tag === "" ? undefined : `${hub}/${image}:${tag}`;
}

type JsonObject = Readonly<Record<string, unknown>>;

function parseObject(json: string | undefined): JsonObject | undefined {
  try {
    return asObject(JSON.parse(json ?? ""));
  } catch {
    return undefined;
  }
}

function member(object: JsonObject | undefined, name: string): JsonObject | undefined {
  return asObject(object?.[name]);
}

function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null ? (value as JsonObject) : undefined;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
