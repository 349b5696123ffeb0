import { applyProxyConfigAnnotation, formatPath } from "@istiod/config-schema";
import {
  MeshConfig_InboundTrafficPolicy_Mode as InboundMode,
  type MeshConfig,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { validateAnnotations } from "../annotations/validate-annotations.js";
import type { InjectorConfig } from "../config/injector-config.js";
import type { InjectorValues } from "../config/values.js";
import { InjectorError } from "../errors.js";
import { decodeStruct } from "../go-types/decode.js";
import { copyJson, type JsonObject } from "../go-types/json.js";
import {
  annotationsOf,
  containersOf,
  displayName,
  findContainer,
  labelsOf,
  named,
  networkLabel,
  proxyConfigAnnotation,
  proxyContainer,
  sidecarStatusAnnotation,
  specOf,
  writableMap,
} from "../pod-fields.js";
import { applyStrategicMergePatch } from "../strategic-merge/strategic-merge-patch.js";
import { proxyImage, proxyInitImage } from "../templates/image.js";
import type { TemplateInput } from "../templates/template-data.js";
import { orderContainers } from "./order.js";
import { reapplyOverrides, reinsertOverrides } from "./overrides.js";
import { takeOverProbes } from "./probes.js";
import { annotateSecurePort, clearPrometheusAnnotations, mergePrometheus, prometheusPort } from "./prometheus.js";
import { proxyIds } from "./proxy-ids.js";
import { injectionStatus, statusText } from "./status.js";

/** Everything that injection depends on besides the pod. */
export interface InjectionInput {
  readonly config: Pick<InjectorConfig, "templates" | "defaultTemplates" | "aliases" | "injectedAnnotations">;
  readonly values: InjectorValues;
  readonly meshConfig: MeshConfig;
  /** The pod's proxy configuration. */
  readonly proxyConfig: ProxyConfig;
  /** Name and namespace of the workload that the pod belongs to. */
  readonly workload: TemplateInput["workload"];
  readonly workloadType: TemplateInput["workloadType"];
  /** Revision of istiod; empty for `default`. */
  readonly revision: string;
  /** True if the proxy becomes an init container, unless the pod's annotation says otherwise. */
  readonly nativeSidecars: boolean;
  /** Variables of the webhook's path, which the proxy gets. */
  readonly proxyVariables: Readonly<Record<string, string>>;
  /** The pod's namespace, for the user and group that OpenShift gives it. Default: 1337. */
  readonly namespace?: JsonObject;
  /** Compliance policy of istiod, such as `fips-140-2`; empty for none. */
  readonly compliancePolicy: string;
}

const nativeSidecarAnnotation = "sidecar.istio.io/nativeSidecar";
const clusterVariable = "ISTIO_META_CLUSTER_ID";
const networkVariable = "ISTIO_META_NETWORK";

/**
 * Injects a pod (pkg/kube/inject/webhook.go, `injectPod`). Whether it is to be injected is decided before. The pod is
 * not changed.
 *
 * @param pod a pod as `decodePod` returns it
 * @throws InjectorError if an annotation is invalid, or a template cannot be applied
 */
export function injectPod(pod: JsonObject, input: InjectionInput): JsonObject {
  const original = copyJson(pod);
  validateAnnotations(annotationsOf(original));
  const variables = proxyVariables(original, input);
  const rendered = runTemplates(original, input);
  const result = reapplyOverrides(rendered.merged, {
    original,
    template: rendered.template,
    proxyConfig: input.proxyConfig,
  });
  setProxyVariables(result, variables);
  mergePrometheus(result, input.meshConfig);
  annotateSecurePort(result);
  takeOverProbes(result, input.meshConfig.defaultConfig?.statusPort ?? 0, input.values.rewritesProbes);
  annotateResult(result, rendered.template, input, variables[networkVariable]);
  orderContainers(result, isProxyFirst(original, input));
  return decodePod(result);
}

/** Decodes a Pod, or a Pod's template. @throws InjectorError `pod` if it is none */
export const decodePod = (pod: unknown): JsonObject => decodeStruct("Pod", pod, "pod");

/** Merges the templates of a pod into it, one after the other, and also into an empty one. */
function runTemplates(
  original: JsonObject,
  input: InjectionInput,
): { readonly merged: JsonObject; readonly template: JsonObject } {
  const stripped = reinsertOverrides(stripInjected(original, input));
  const data = templateInput(stripped, input);
  let merged = original;
  let template = decodePod({});
  for (const name of selectTemplates(original, input)) {
    const found = input.config.templates.get(name);
    if (found === undefined) {
      const known = [...input.config.templates.keys()].sort().join(", ");
      throw new InjectorError("template", `requested template "${name}" not found; have ${known}`);
    }
    const patch = found.render(data);
    template = decodePod(applyStrategicMergePatch("Pod", template, patch));
    if (becomesNative(merged, template, input.nativeSidecars)) merged = moveProxyToInitContainers(merged);
    merged = decodePod(applyStrategicMergePatch("Pod", merged, patch));
  }
  return { merged: copyJson(merged), template };
}

/** Returns the names of a pod's templates: those of the annotation or the default ones, with aliases resolved. */
export function selectTemplates(
  pod: JsonObject,
  { config }: { readonly config: Pick<InjectorConfig, "defaultTemplates" | "aliases"> },
): readonly string[] {
  const requested = annotationsOf(pod)["inject.istio.io/templates"];
  const names = requested === undefined ? config.defaultTemplates : requested.split(",").map((name) => name.trim());
  return names.flatMap((name) => (Object.hasOwn(config.aliases, name) ? (config.aliases[name] ?? []) : [name]));
}

/** Removes what an earlier injection added, so that another one has the same result. */
function stripInjected(pod: JsonObject, { meshConfig }: InjectionInput): JsonObject {
  const status = injectionStatus(pod);
  if (status === undefined) return pod;
  const result = copyJson(pod);
  for (const list of ["containers", "initContainers"] as const)
    specOf(result)[list] = containersOf(result, list).filter(({ name }) => !status[list].includes(name as string));
  if (prometheusPort(result) === String(meshConfig.defaultConfig?.statusPort ?? 0)) clearPrometheusAnnotations(result);
  delete writableMap(result, "annotations")[sidecarStatusAnnotation];
  return result;
}

function templateInput(pod: JsonObject, input: InjectionInput): TemplateInput {
  const { uid, gid } = proxyIds(input.namespace);
  const annotations = annotationsOf(pod);
  return {
    pod,
    workload: input.workload,
    workloadType: input.workloadType,
    proxyConfig: input.proxyConfig,
    meshConfig: input.meshConfig,
    values: input.values.all,
    revision: input.revision,
    nativeSidecars: input.nativeSidecars,
    proxyImage: proxyImage(input.values, input.proxyConfig.image?.imageType ?? "", annotations),
    proxyInitImage: proxyInitImage(input.values, annotations),
    proxyUid: uid,
    proxyGid: gid,
    inboundTrafficPolicyMode:
      input.meshConfig.inboundTrafficPolicy?.mode === InboundMode.LOCALHOST ? "localhost" : "passthrough",
    compliancePolicy: input.compliancePolicy,
  };
}

/** Reports whether the template has the proxy as an init container, and the pod has it as a container. */
function becomesNative(pod: JsonObject, template: JsonObject, nativeSidecars: boolean): boolean {
  const requested = annotationsOf(pod)[nativeSidecarAnnotation];
  const isNative = requested === "true" || (requested !== "false" && nativeSidecars);
  return (
    isNative &&
    named(containersOf(template, "initContainers"), proxyContainer) !== undefined &&
    named(containersOf(pod, "containers"), proxyContainer) !== undefined
  );
}

function moveProxyToInitContainers(pod: JsonObject): JsonObject {
  const result = copyJson(pod);
  const containers = containersOf(result, "containers");
  const at = containers.findIndex(({ name }) => name === proxyContainer);
  specOf(result)["containers"] = containers.toSpliced(at, 1);
  specOf(result)["initContainers"] = [...containersOf(result, "initContainers"), ...containers.slice(at, at + 1)];
  return result;
}

/** Returns the variables of the proxy, with its cluster and network: of the values, the path, then the pod's label. */
function proxyVariables(pod: JsonObject, { values, proxyVariables: given }: InjectionInput): Record<string, string> {
  const cluster = given[clusterVariable] || values.cluster;
  const network = labelsOf(pod)[networkLabel] ?? (given[networkVariable] || values.network);
  return {
    ...given,
    ...(cluster !== "" && { [clusterVariable]: cluster }),
    ...(network !== "" && { [networkVariable]: network }),
  };
}

function setProxyVariables(pod: JsonObject, variables: Readonly<Record<string, string>>): void {
  const proxy = findContainer(pod, proxyContainer);
  const names = Object.keys(variables).sort();
  if (proxy === undefined || names.length === 0) return;
  const kept = ((proxy["env"] ?? []) as readonly JsonObject[]).filter(({ name }) => !names.includes(name as string));
  proxy["env"] = [...kept, ...names.map((name) => ({ name, value: variables[name] ?? "" }))];
}

function annotateResult(
  pod: JsonObject,
  template: JsonObject,
  { revision, config }: InjectionInput,
  network: string | undefined,
): void {
  if (network !== undefined) writableMap(pod, "labels")[networkLabel] = network;
  const annotations = writableMap(pod, "annotations");
  annotations[sidecarStatusAnnotation] = statusText(template, revision);
  Object.assign(annotations, config.injectedAnnotations);
}

/** Reports whether the application waits for the proxy, by the mesh, the values, or the pod's annotation. */
function isProxyFirst(pod: JsonObject, { meshConfig, values }: InjectionInput): boolean {
  const text = annotationsOf(pod)[proxyConfigAnnotation];
  const proxyConfig =
    text === undefined ? meshConfig.defaultConfig : applyAnnotation(meshConfig.defaultConfig, text, pod);
  return proxyConfig?.holdApplicationUntilProxyStarts === true || values.holdsApplication;
}

/**
 * Returns a proxy configuration with the annotation `proxy.istio.io/config` applied.
 *
 * @throws InjectorError `annotation` if it is malformed
 */
export function applyAnnotation(base: ProxyConfig | undefined, text: string, pod: JsonObject): ProxyConfig {
  const faults: string[] = [];
  const applied = applyProxyConfigAnnotation(base, text, {
    error: (path, message) => faults.push([formatPath(path), message].filter((part) => part !== "").join(" ")),
    warning: () => undefined,
  });
  if (applied !== undefined) return applied;
  throw new InjectorError(
    "annotation",
    `${displayName(pod)}: annotation ${proxyConfigAnnotation}: could not parse proxy config: ${faults.join(", ")}`,
  );
}
