import { configMaps } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";

/** Settings of a sidecar injector. */
export interface InjectorConfig {
  /** True if namespaces without an injection label are injected. */
  readonly enabledByDefault: boolean;
  /**
   * The injected proxy image without the suffix of an image type; undefined if the settings do not specify it.
   */
  readonly image: string | undefined;
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
  return {
    enabledByDefault: member(values, "sidecarInjectorWebhook")?.["enableNamespacesByDefault"] === true,
    image: imageOf(text(member(global, "proxy")?.["image"]), text(global?.["hub"]), text(global?.["tag"])),
  };
});

/** Returns the settings of a revision's injector; undefined if its ConfigMap does not exist. */
export function injectorConfig(q: QueryContext, cluster: string, revision: string): InjectorConfig | undefined {
  return q.call(configOf, `${cluster}/${revision === "" || revision === "default" ? prefix : `${prefix}-${revision}`}`);
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
