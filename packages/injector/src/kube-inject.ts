import { parseYaml } from "@istiod/config-schema";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { create } from "@bufbuild/protobuf";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { InjectorConfig } from "./config/injector-config.js";
import type { InjectorValues } from "./config/values.js";
import { decideInjection } from "./decide-injection.js";
import { InjectorError } from "./errors.js";
import { decodeStruct } from "./go-types/decode.js";
import { asObject, copyJson, type JsonObject, jsonObject, jsonTypeOf } from "./go-types/json.js";
import { applyAnnotation, injectPod } from "./inject/inject-pod.js";
import { type Workload, workloadOf } from "./inject/workload.js";
import type { Pod } from "./pod.js";
import { annotationsOf, metadataOf, proxyConfigAnnotation, specOf } from "./pod-fields.js";
import { yamlText } from "./templates/yaml-text.js";

/** The inputs of `kube-inject` besides the resources. */
export interface ResourceInjection {
  readonly templates: InjectorConfig["templates"];
  readonly values: InjectorValues;
  readonly meshConfig: MeshConfig;
  /** Revision of istiod; empty for `default`. */
  readonly revision: string;
  /** True if proxies become native sidecars, unless an annotation says otherwise. */
  readonly nativeSidecars: boolean;
  /** Compliance policy (`COMPLIANCE_POLICY`); empty for none. */
  readonly compliancePolicy: string;
}

/** Injected resources, and what was left as it is although it has a pod. */
export interface InjectedResources {
  readonly output: string;
  readonly warnings: readonly string[];
}

/**
 * Injects the workloads of a YAML file: Deployments, DaemonSets, StatefulSets, ReplicaSets, ReplicationControllers,
 * Jobs, CronJobs, DeploymentConfigs, Pods, and Lists of them. Other documents are copied. The templates are `sidecar`,
 * or those that a pod's annotation names (pkg/kube/inject/inject.go, `IntoResourceFile`).
 *
 * @throws InjectorError that names the object
 */
export function injectResources(text: string, injection: ResourceInjection): InjectedResources {
  const warnings: string[] = [];
  const documents = splitDocuments(text).map((document) => injectDocument(document, injection, warnings));
  return { output: documents.map((document) => `${document}---\n`).join(""), warnings };
}

/** Splits a file at lines of `---`. Documents without any line are dropped. */
function splitDocuments(text: string): readonly string[] {
  const documents = text.split(/^---[^\S\n]*(?:\n|$)/m).filter((document) => document !== "");
  return documents.map((document) => (document.endsWith("\n") ? document : `${document}\n`));
}

function injectDocument(text: string, injection: ResourceInjection, warnings: string[]): string {
  const parsed = parseYaml({ text, line: 1 }, { allowsDuplicateKeys: true });
  if ("message" in parsed) throw new InjectorError("pod", `line ${parsed.line} of a document: ${parsed.message}`);
  const object = asObject(parsed.value);
  if (object === undefined) {
    if (parsed.value === null) return text;
    throw new InjectorError("pod", `a document is ${jsonTypeOf(parsed.value)}, expected an object`);
  }
  const injected = injectObject(object, injection, warnings);
  return injected === undefined ? text : yamlText(withoutNulls(injected));
}

/** Paths of the metadata and the specification of the pod that a kind has. */
interface PodPath {
  readonly metadata: readonly string[];
  readonly spec: readonly string[];
}

const template: PodPath = { metadata: ["spec", "template", "metadata"], spec: ["spec", "template", "spec"] };

/** Kinds with pods, of any version. As in Istio, a CronJob's annotations are those of its Jobs. */
const kinds: Readonly<Record<string, PodPath>> = {
  Pod: { metadata: ["metadata"], spec: ["spec"] },
  ReplicationController: template,
  Deployment: template,
  DaemonSet: template,
  ReplicaSet: template,
  StatefulSet: template,
  Job: template,
  CronJob: {
    metadata: ["spec", "jobTemplate", "metadata"],
    spec: ["spec", "jobTemplate", "spec", "template", "spec"],
  },
  DeploymentConfig: template,
};

/** Returns an injected object; undefined for kinds without pods. */
function injectObject(object: JsonObject, injection: ResourceInjection, warnings: string[]): JsonObject | undefined {
  const kind = typeof object["kind"] === "string" ? object["kind"] : "";
  if (kind === "List") return injectList(object, injection, warnings);
  const path = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (path === undefined) return undefined;
  const resource = decodeStruct(kind, object, nameOf(kind, object), { convertsScalars: true });
  if (at(resource, path.spec.slice(0, -1)) === undefined)
    throw new InjectorError("pod", `${nameOf(kind, resource)}: spec.template is required value`);
  const pod = { metadata: at(resource, path.metadata) ?? {}, spec: at(resource, path.spec) ?? {} } as JsonObject;
  const workload = workloadOfResource(kind, resource, pod);
  const skipped = skipReason(pod);
  if (skipped !== undefined) {
    const { namespace } = workload.workload;
    const name = String(metadataOf(pod)["name"] || workload.workload.name);
    const fullName = JSON.stringify(namespace === "" ? name : `${namespace}/${name}`);
    warnings.push(`===> Skipping injection because ${workload.workloadType.kind} ${fullName} ${skipped}\n`);
    return resource;
  }
  const injected = injectWith(pod, workload, injection);
  set(resource, path.metadata, injected["metadata"]);
  set(resource, path.spec, injected["spec"]);
  return resource;
}

function injectList(list: JsonObject, injection: ResourceInjection, warnings: string[]): JsonObject {
  const items = list["items"] ?? [];
  if (!Array.isArray(items)) throw new InjectorError("pod", `List: items is ${jsonTypeOf(items)}, expected a list`);
  const injected = items.map((item: unknown) => {
    const object = asObject(item);
    return (object && injectObject(object, injection, warnings)) ?? item;
  });
  return { ...copyJson(list), items: injected };
}

function workloadOfResource(kind: string, resource: JsonObject, pod: JsonObject): Workload {
  if (kind === "Pod") return workloadOf(pod);
  const { name = "", namespace = "" } = metadataOf(resource);
  return {
    workload: { name: String(name), namespace: String(namespace) },
    workloadType: { apiVersion: String(resource["apiVersion"] ?? ""), kind },
  };
}

function skipReason(pod: JsonObject): string | undefined {
  if (specOf(pod)["hostNetwork"] === true) return "has host networking enabled";
  const namespace = String(metadataOf(pod)["namespace"] ?? "");
  const { inject } = decideInjection(pod as unknown as Pod, namespace, { policy: "enabled" });
  return inject ? undefined : "has sidecar injection disabled";
}

function injectWith(pod: JsonObject, workload: Workload, injection: ResourceInjection): JsonObject {
  const annotation = annotationsOf(pod)[proxyConfigAnnotation];
  const base = injection.meshConfig.defaultConfig ?? create(ProxyConfigSchema);
  const proxyConfig = annotation === undefined ? base : applyAnnotation(base, annotation, pod);
  try {
    return injectPod(pod, {
      config: {
        templates: injection.templates,
        defaultTemplates: ["sidecar"],
        aliases: {},
        injectedAnnotations: {},
      },
      values: injection.values,
      meshConfig: { ...injection.meshConfig, defaultConfig: proxyConfig },
      proxyConfig,
      ...workload,
      revision: injection.revision,
      nativeSidecars: injection.nativeSidecars,
      proxyVariables: {},
      compliancePolicy: injection.compliancePolicy,
    });
  } catch (cause) {
    if (!(cause instanceof InjectorError)) throw cause;
    const { namespace, name } = workload.workload;
    const place = `${workload.workloadType.kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
    throw new InjectorError(cause.code, `${place}: ${cause.message}`, { cause });
  }
}

const nameOf = (kind: string, object: JsonObject): string => {
  const metadata = asObject(object["metadata"]);
  const namespace = metadata?.["namespace"];
  return `${kind} ${namespace ? `${String(namespace)}/` : ""}${String(metadata?.["name"] ?? "")}`.trim();
};

function at(object: JsonObject, path: readonly string[]): JsonObject | undefined {
  return path.reduce<JsonObject | undefined>((value, name) => asObject(value?.[name]), object);
}

function set(object: JsonObject, path: readonly string[], value: unknown): void {
  const last = path.at(-1);
  const parent = path.slice(0, -1).reduce<JsonObject>((value, name) => {
    return asObject(value[name]) ?? (value[name] = jsonObject() as never);
  }, object);
  if (last !== undefined) parent[last] = value;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  const object = asObject(value);
  if (object === undefined) return value;
  const entries = Object.entries(object).filter(([, item]) => item !== null && item !== undefined);
  return jsonObject(entries.map(([key, item]) => [key, withoutNulls(item)] as const));
}
