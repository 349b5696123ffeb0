import { asObject, type JsonObject, jsonObject } from "./go-types/json.js";

/** Name of the proxy's container. */
export const proxyContainer = "istio-proxy";

export const sidecarStatusAnnotation = "sidecar.istio.io/status";
export const proxyConfigAnnotation = "proxy.istio.io/config";
export const networkLabel = "topology.istio.io/network";

type StringMap = Record<string, string>;

/** Returns an object of a pod, such as `metadata`, which is added if it is absent. */
function section(pod: JsonObject, name: "metadata" | "spec"): JsonObject {
  return asObject(pod[name]) ?? (pod[name] = jsonObject() as never);
}

export const metadataOf = (pod: JsonObject): JsonObject => section(pod, "metadata");
export const specOf = (pod: JsonObject): JsonObject => section(pod, "spec");

/** Returns the annotations of a pod for reading. */
export const annotationsOf = (pod: JsonObject): Readonly<StringMap> =>
  (asObject(metadataOf(pod)["annotations"]) ?? jsonObject()) as StringMap;

/** Returns the labels of a pod for reading. */
export const labelsOf = (pod: JsonObject): Readonly<StringMap> =>
  (asObject(metadataOf(pod)["labels"]) ?? jsonObject()) as StringMap;

/** Returns the annotations or labels of a pod for writing, which are added if they are absent. */
export function writableMap(pod: JsonObject, name: "annotations" | "labels"): StringMap {
  const metadata = metadataOf(pod);
  return (asObject(metadata[name]) ?? (metadata[name] = jsonObject() as never)) as StringMap;
}

/** Lists of containers in a Pod's specification. */
export type ContainerList = "containers" | "initContainers";

/** Returns the containers of a list; none if it is absent. */
export const containersOf = (pod: JsonObject, list: ContainerList): readonly JsonObject[] =>
  (specOf(pod)[list] ?? []) as readonly JsonObject[];

/** Returns the first container of a name, from the containers and then the init containers. */
export const findContainer = (pod: JsonObject, name: string): JsonObject | undefined =>
  named(containersOf(pod, "containers"), name) ?? named(containersOf(pod, "initContainers"), name);

/** Returns the first container of a name. */
export const named = (containers: readonly JsonObject[], name: unknown): JsonObject | undefined =>
  containers.find((container) => container["name"] === name);

/** A variable of a container with a value. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

/** Appends variables to a container. Like Kubernetes' types, it omits an empty value. */
export function appendVariables(container: JsonObject, variables: readonly EnvironmentVariable[]): void {
  const added = variables.map(({ name, value }) => ({ name, ...(value !== "" && { value }) }));
  container["env"] = [...((container["env"] ?? []) as readonly unknown[]), ...added];
}

/** Returns a pod's name for messages: of a pod that a controller creates, only the prefix is known. */
export function displayName(object: JsonObject): string {
  const { name, generateName, namespace } = metadataOf(object);
  const known = name || (generateName ? `${String(generateName)}***** (actual name not yet known)` : "");
  const kind = object["kind"] === "Gateway" ? "Gateway" : "Pod";
  return `${kind} ${namespace ? `${String(namespace)}/` : ""}${String(known)}`.trim();
}
