import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { annotationWarnings, checkAnnotationSize } from "./annotations/validate-annotations.js";
import type { InjectorConfig } from "./config/injector-config.js";
import type { InjectorValues } from "./config/values.js";
import { decideInjection, type DecisionReason } from "./decide-injection.js";
import { InjectorError } from "./errors.js";
import { asObject, type JsonObject } from "./go-types/json.js";
import { decodePod, injectPod } from "./inject/inject-pod.js";
import type { ProxyConfigTarget } from "./inject/proxy-config.js";
import { workloadOf } from "./inject/workload.js";
import { createJsonPatch, type JsonPatchOperation } from "./json-patch.js";
import {
  annotationsOf,
  displayName,
  findContainer,
  labelsOf,
  metadataOf,
  proxyContainer,
  specOf,
} from "./pod-fields.js";
import type { Pod } from "./pod.js";
import { pathVariables } from "./webhook-path.js";

/** The part of an AdmissionRequest that injection reads. */
export interface MutationRequest {
  /** The Pod, as the API server sent it. */
  readonly object: unknown;
  /** Namespace of the request, for a Pod without one. */
  readonly namespace?: string;
  /** Path of the HTTP request, such as `/inject/cluster/a/net/b`. Default: `/inject` */
  readonly path?: string;
}

/** Configuration of injection, and questions about the mesh and its clusters. */
export interface Injector {
  readonly config: InjectorConfig;
  readonly values: InjectorValues;
  readonly meshConfig: MeshConfig;
  /** Revision of istiod; empty for `default`. */
  readonly revision: string;
  /** Compliance policy of istiod (`COMPLIANCE_POLICY`); empty for none. */
  readonly compliancePolicy: string;
  /** Returns the proxy configuration of a workload: see `effectiveProxyConfig`. */
  proxyConfig(target: ProxyConfigTarget): ProxyConfig;
  /** Reports whether a pod's proxy becomes a native sidecar: see `usesNativeSidecars`. */
  nativeSidecars(cluster: string, nodeName: string): boolean;
  /** Returns a Namespace, on OpenShift. Default: undefined */
  namespace?(cluster: string, name: string): JsonObject | undefined;
}

/** The answer to a request. A pod that cannot be injected is refused. */
export type Mutation =
  | {
      readonly outcome: "injected";
      readonly patch: readonly JsonPatchOperation[];
      readonly warnings: readonly string[];
      /** Name of the Pod, for logs. */
      readonly pod: string;
    }
  | {
      readonly outcome: "skipped";
      readonly reason: DecisionReason;
      readonly warnings: readonly string[];
      readonly pod: string;
    }
  | { readonly outcome: "failed"; readonly message: string; readonly pod: string };

/** The most that the review of a Pod may have: limits of an `admissionHandler`. */
export const podReviewLimits = {
  /** The most that an API server accepts of a Pod, and the rest of the review. */
  maxBodyBytes: (3 * 1024 + 64) * 1024,
  /** Members and elements: fifty times as many as a Pod with several containers has. */
  maxValues: 20_000,
} as const;

/** Cluster of requests whose path and values name none. */
const defaultCluster = "Kubernetes";

/** Answers a request of the injection webhook. Never throws for what the request has. */
export function mutatePod(request: MutationRequest, injector: Injector): Mutation {
  let name = "Pod";
  try {
    const pod = podOf(request);
    name = displayName(pod);
    return mutate(pod, request, injector, name);
  } catch (cause) {
    if (cause instanceof InjectorError) return { outcome: "failed", message: cause.message, pod: name };
    throw cause;
  }
}

function podOf({ object, namespace = "" }: MutationRequest): JsonObject {
  if (asObject(object) === undefined) throw new InjectorError("pod", "could not unmarshal raw object: it is no object");
  const pod = decodePod(object);
  const metadata = metadataOf(pod);
  // Large, and without effect on injection.
  delete metadata["managedFields"];
  if (namespace !== "") metadata["namespace"] ||= namespace;
  return pod;
}

function mutate(pod: JsonObject, { path = "/inject" }: MutationRequest, injector: Injector, name: string): Mutation {
  const namespace = String(metadataOf(pod)["namespace"] ?? "");
  const { inject, reason, warnings } = decideInjection(pod as unknown as Pod, namespace, injector.config);
  if (!inject) return { outcome: "skipped", reason, warnings, pod: name };
  checkAnnotationSize(annotationsOf(pod));
  const proxyVariables = pathVariables(path);
  const cluster = proxyVariables["ISTIO_META_CLUSTER_ID"] || injector.values.cluster || defaultCluster;
  const namespaceObject = injector.namespace?.(cluster, namespace);
  const injected = injectPod(namespaceObject === undefined ? pod : withoutSharedUser(pod), {
    config: injector.config,
    values: injector.values,
    meshConfig: injector.meshConfig,
    proxyConfig: injector.proxyConfig({ namespace, labels: labelsOf(pod), annotations: annotationsOf(pod) }),
    ...workloadOf(pod),
    revision: injector.revision,
    nativeSidecars: injector.nativeSidecars(cluster, String(specOf(pod)["nodeName"] ?? "")),
    proxyVariables,
    ...(namespaceObject && { namespace: namespaceObject }),
    compliancePolicy: injector.compliancePolicy,
  });
  const all = [...warnings, ...annotationWarnings(annotationsOf(pod))];
  return { outcome: "injected", patch: createJsonPatch(pod, injected), warnings: all, pod: name };
}

/**
 * Removes the user of the proxy's container where it is the application's: OpenShift gives all containers of a pod one
 * user, but redirection excludes the proxy by its user.
 */
function withoutSharedUser(pod: JsonObject): JsonObject {
  const context = asObject(findContainer(pod, proxyContainer)?.["securityContext"]);
  if (context === undefined) return pod;
  const spec = specOf(pod);
  const containers = [spec["containers"], spec["initContainers"]].flatMap((list) => (list ?? []) as JsonObject[]);
  const userOf = (container: JsonObject): number | undefined =>
    asObject(container["securityContext"])?.["runAsUser"] as number | undefined;
  const users = (own: boolean): number | undefined =>
    containers
      .filter(({ name }) => (own ? name === proxyContainer : !notApplications.includes(String(name))))
      .map(userOf)
      .findLast((user) => user !== undefined);
  if ((users(true) ?? 0) !== (users(false) ?? 0)) return pod;
  delete context["runAsUser"];
  delete context["runAsGroup"];
  return pod;
}

const notApplications = [proxyContainer, "istio-validation", "istio-init"];
