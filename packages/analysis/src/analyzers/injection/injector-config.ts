import { configMaps } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";

/** The settings of an injector that analysis reads. */
export interface InjectorConfig {
  /** Namespaces without an injection label are injected. */
  readonly enabledByDefault: boolean;
  /**
   * The proxy image that is injected, without the suffix of an image type; undefined where the settings do not give it.
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

/** Returns the settings of the injector of a revision; undefined where its ConfigMap is not known. */
export function injectorConfig(q: QueryContext, cluster: string, revision: string): InjectorConfig | undefined {
  return q.call(configOf, `${cluster}/${revision === "" || revision === "default" ? prefix : `${prefix}-${revision}`}`);
}

/** Returns the image, which hub and tag complete unless it is given in full. */
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
