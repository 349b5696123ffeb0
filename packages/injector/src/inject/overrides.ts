import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { ProxyConfig_InboundInterceptionMode as InterceptionMode } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { InjectorError } from "../errors.js";
import { decodeStruct } from "../go-types/decode.js";
import { encodeStruct } from "../go-types/encode.js";
import { asObject, copyJson, type JsonObject } from "../go-types/json.js";
import {
  annotationsOf,
  type ContainerList,
  containersOf,
  findContainer,
  named,
  proxyContainer,
  sidecarStatusAnnotation,
  specOf,
  writableMap,
} from "../pod-fields.js";
import { applyStrategicMergePatch } from "../strategic-merge/strategic-merge-patch.js";
import { injectionStatus } from "./status.js";

/** Holds the containers that a user's pod had before injection, so that they survive another injection. */
const overridesAnnotation = "proxy.istio.io/overrides";

/** An image of a user's container that stands for the template's. */
const automaticImage = "auto";

type Overrides = Record<ContainerList, JsonObject[]>;

/** Adds the containers of the annotation that a pod lacks: an earlier injection's were stripped. */
export function reinsertOverrides(pod: JsonObject): JsonObject {
  const result = copyJson(pod);
  const overrides = readOverrides(pod);
  for (const list of ["containers", "initContainers"] as const) {
    const present = containersOf(result, list);
    const added = overrides[list].filter(({ name }) => named(present, name) === undefined);
    if (added.length > 0) specOf(result)[list] = [...present, ...added];
  }
  return result;
}

/**
 * Applies containers of the pod, as it was before the templates, over those of the templates of the same name, so that
 * users can change them. Containers that an earlier injection added are not a user's.
 */
export function reapplyOverrides(
  merged: JsonObject,
  { original, template, proxyConfig }: { original: JsonObject; template: JsonObject; proxyConfig: ProxyConfig },
): JsonObject {
  const earlier = readOverrides(original);
  const isReinjection = sidecarStatusAnnotation in annotationsOf(original);
  const injected = injectionStatus(original);
  const overrides: Overrides = { containers: [], initContainers: [] };
  let result = merged;
  for (const list of ["containers", "initContainers"] as const) {
    for (const { name } of containersOf(template, list)) {
      if (injected?.[list].includes(name as string)) continue;
      const own =
        named(earlier[list], name) ??
        (list === "containers" ? named(containersOf(original, list), name) : findContainer(original, name as string));
      if (own === undefined) continue;
      const overlay = withoutAutomaticImage(own);
      overrides[list].push(overlay);
      result = applyOverlay(result, list, overlay);
    }
  }
  if (!isReinjection && overrides.containers.length + overrides.initContainers.length > 0)
    writableMap(result, "annotations")[overridesAnnotation] = overridesText(overrides);
  adjustProxyUser(result, original, proxyConfig);
  return result;
}

function readOverrides(pod: JsonObject): Overrides {
  const text = annotationsOf(pod)[overridesAnnotation];
  if (text === undefined) return { containers: [], initContainers: [] };
  const fail = (reason: string): InjectorError =>
    new InjectorError("annotation", `annotation ${overridesAnnotation}: ${reason}, expected JSON of containers`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw fail((cause as Error).message);
  }
  const object = asObject(value);
  if (object === undefined) throw fail("is no object");
  const containers = (list: ContainerList): JsonObject[] => {
    const items = object[list] ?? [];
    if (!Array.isArray(items)) throw fail(`${list} is no list`);
    return items.map((item, i) => decodeStruct("Container", item, `annotation ${overridesAnnotation}: ${list}[${i}]`));
  };
  return { containers: containers("containers"), initContainers: containers("initContainers") };
}

function overridesText(overrides: Overrides): string {
  const lists = (["containers", "initContainers"] as const).filter((list) => overrides[list].length > 0);
  const text = (list: ContainerList): string =>
    overrides[list].map((container) => encodeStruct("Container", container)).join(",");
  return `{${lists.map((list) => `"${list}":[${text(list)}]`).join(",")}}`;
}

function withoutAutomaticImage(container: JsonObject): JsonObject {
  const result = copyJson(container);
  if (result["image"] === automaticImage) delete result["image"];
  return result;
}

function applyOverlay(pod: JsonObject, list: ContainerList, container: JsonObject): JsonObject {
  const patch = { spec: { [list]: [container] } };
  return decodeStruct("Pod", applyStrategicMergePatch("Pod", pod, patch as unknown as JsonObject), "pod");
}

/**
 * Makes the init container use the user and group that a user's proxy container sets. In TPROXY mode the proxy runs as
 * root, whatever the user sets.
 */
function adjustProxyUser(pod: JsonObject, original: JsonObject, proxyConfig: ProxyConfig): void {
  const context = asObject(findContainer(original, proxyContainer)?.["securityContext"]);
  const user = context?.["runAsUser"] as number | undefined;
  const group = context?.["runAsGroup"] as number | undefined;
  const containers = containersOf(pod, "initContainers");
  const init = named(containers, "istio-init") ?? named(containers, "istio-validation");
  if ((user === undefined && group === undefined) || init === undefined) return;
  const isTproxy =
    proxyConfig.interceptionMode === InterceptionMode.TPROXY ||
    annotationsOf(pod)["sidecar.istio.io/interceptionMode"] === "TPROXY";
  if (isTproxy && user !== undefined) setIdentity(findContainer(pod, proxyContainer), 0, undefined);
  if (!isTproxy && init["name"] === "istio-validation") setIdentity(init, user, group);
  const args = init["args"] as string[] | undefined;
  const at = args?.indexOf("-u") ?? -1;
  if (args !== undefined && at >= 0 && at + 1 < args.length && user) args[at + 1] = String(user);
}

function setIdentity(container: JsonObject | undefined, user: number | undefined, group: number | undefined): void {
  if (container === undefined) return;
  container["securityContext"] = {
    ...asObject(container["securityContext"]),
    ...(user !== undefined && { runAsUser: user }),
    ...(group !== undefined && { runAsGroup: group }),
  };
}
