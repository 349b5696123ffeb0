import { collection, type Collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { containerFields, type Container, readContainers, readRunAsUser } from "../kubernetes/container.js";
import type { ContainerPort } from "../kubernetes/pod.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind, type Kind } from "../kind.js";
import type { SelectedFields } from "../selected-fields.js";

/** The template of the pods that a workload kind, such as a Deployment, creates. */
export interface PodTemplateSpec {
  readonly templateLabels: Readonly<Record<string, string>>;
  /** Annotations of Istio's domains. */
  readonly templateAnnotations: Readonly<Record<string, string>>;
  /** Containers and init containers of the template, in order. */
  readonly containers: readonly Container[];
  /** Ports that containers declare, in order. */
  readonly ports: readonly ContainerPort[];
  /** User ID of the template's security context. Undefined: the image's. */
  readonly runAsUser?: number;
  readonly hostNetwork: boolean;
  readonly serviceAccountName: string;
  /** The number of pods. Undefined if the object does not say it. */
  readonly replicas?: number;
}

export type WorkloadObject = ConfigObject<PodTemplateSpec>;

/** A kind that creates pods from a template. */
export interface WorkloadKind extends Kind {
  readonly collection: Collection<WorkloadObject>;
}

const template: SelectedFields = {
  metadata: { labels: true, annotations: true },
  spec: { ...containerFields, hostNetwork: true, serviceAccountName: true, serviceAccount: true },
};

/** Paths of the pod template in an object. CronJobs have it in the template of their Jobs. */
const places = {
  own: { fields: { spec: { replicas: true, template } }, path: ["spec", "template"] },
  ofJobs: {
    fields: { spec: { jobTemplate: { spec: { template } } } },
    path: ["spec", "jobTemplate", "spec", "template"],
  },
} as const satisfies Readonly<Record<string, { fields: SelectedFields; path: readonly string[] }>>;

function workloadKind(kind: string, group: string, place: keyof typeof places = "own", version = "v1"): WorkloadKind {
  const workloads = collection<WorkloadObject>(kind, { filter: discoveryNamespacesFilter });
  const { fields, path } = places[place];
  const declared = declareKind<PodTemplateSpec, undefined>({
    kind,
    group,
    versions: [version],
    scope: "namespaced",
    nameRule: "mixedCaseSubdomain",
    collection: workloads,
    labels: "all",
    annotations: isIstioKey,
    fields,
    key: clusterKey,
    decode(manifest, report) {
      const body = Fields.of(manifest.body, report);
      const replicas = place === "own" ? body.object("spec").integer("replicas") : undefined;
      const spec = readTemplate(path.reduce((at, name) => at.object(name), body));
      return { spec: { ...spec, ...(replicas !== undefined && { replicas }) } };
    },
  });
  return { ...declared, collection: workloads };
}

function readTemplate(body: Fields): PodTemplateSpec {
  const metadata = body.object("metadata");
  const spec = body.object("spec");
  const annotations = Object.entries(metadata.stringMap("annotations")).filter(([key]) => isIstioKey(key));
  return {
    templateLabels: metadata.stringMap("labels"),
    templateAnnotations: Object.fromEntries(annotations),
    containers: readContainers(spec),
    ports: [...spec.list("containers"), ...spec.list("initContainers")].flatMap((container) =>
      container.list("ports").map((port) => ({
        name: port.string("name"),
        containerPort: port.port("containerPort"),
        protocol: port.string("protocol", "TCP"),
      })),
    ),
    ...readRunAsUser(spec),
    hostNetwork: spec.boolean("hostNetwork"),
    serviceAccountName: spec.string("serviceAccountName") || spec.string("serviceAccount") || "default",
  };
}

export const deploymentKind = workloadKind("Deployment", "apps");

/** Kinds that create pods from a template. Their objects are read by analysis only, by `cluster/ns/name`. */
export const workloadKinds: readonly WorkloadKind[] = [
  deploymentKind,
  workloadKind("StatefulSet", "apps"),
  workloadKind("DaemonSet", "apps"),
  workloadKind("ReplicaSet", "apps"),
  workloadKind("ReplicationController", ""),
  workloadKind("Job", "batch"),
  workloadKind("CronJob", "batch", "ofJobs"),
  // Argo Rollouts, whose objects take the place of Deployments.
  workloadKind("Rollout", "argoproj.io", "own", "v1alpha1"),
];

/** Returns the path of the pod template in objects of a kind. */
export function templatePath({ kind }: Pick<Kind, "kind">): readonly string[] {
  return kind === "CronJob" ? places.ofJobs.path : places.own.path;
}
