import { encodeAny } from "../go-types/encode.js";
import { asObject, type JsonObject } from "../go-types/json.js";
import { annotationsOf, containersOf, sidecarStatusAnnotation, specOf } from "../pod-fields.js";

/** Names of what an earlier injection added. */
export interface InjectionStatus {
  readonly initContainers: readonly string[];
  readonly containers: readonly string[];
}

/** Returns the status that an earlier injection left; undefined if there is none or it is unreadable. */
export function injectionStatus(pod: JsonObject): InjectionStatus | undefined {
  const text = annotationsOf(pod)[sidecarStatusAnnotation];
  if (text === undefined) return undefined;
  try {
    const status = asObject(JSON.parse(text));
    const lists = [status?.["initContainers"] ?? [], status?.["containers"] ?? []];
    if (status === undefined || !lists.every(isNames)) return undefined;
    const [initContainers = [], containers = []] = lists as unknown as readonly string[][];
    return { initContainers, containers };
  } catch {
    return undefined;
  }
}

const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === "string");

/** Returns the value of the annotation `sidecar.istio.io/status` for what templates added. */
export function statusText(templatePod: JsonObject, revision: string): string {
  const names = (items: readonly JsonObject[]): unknown =>
    items.length === 0 ? null : items.map(({ name }) => name ?? "");
  const list = (name: string): readonly JsonObject[] => (specOf(templatePod)[name] ?? []) as readonly JsonObject[];
  const members = {
    initContainers: names(containersOf(templatePod, "initContainers")),
    containers: names(containersOf(templatePod, "containers")),
    volumes: names(list("volumes")),
    imagePullSecrets: names(list("imagePullSecrets")),
    revision: revision || "default",
  };
  return `{${Object.entries(members)
    .map(([name, value]) => `${encodeAny(name)}:${encodeAny(value)}`)
    .join(",")}}`;
}
