import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { containerFields, readContainers, readRunAsUser, type Container } from "../kubernetes/container.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

/** The pod template of a Deployment. */
export interface DeploymentSpec {
  readonly templateLabels: Readonly<Record<string, string>>;
  /** Annotations of Istio's domains. */
  readonly templateAnnotations: Readonly<Record<string, string>>;
  /** Containers and init containers of the template, in order. */
  readonly containers: readonly Container[];
  /** User ID of the template's security context. Undefined: the image's. */
  readonly runAsUser?: number;
  readonly hostNetwork: boolean;
}

export type DeploymentObject = ConfigObject<DeploymentSpec>;

/** Deployments by `cluster/ns/name`, read by analysis only. */
export const deployments = collection<DeploymentObject>("Deployment", { filter: discoveryNamespacesFilter });

export const deploymentKind = declareKind<DeploymentSpec, undefined>({
  kind: "Deployment",
  group: "apps",
  versions: ["v1"],
  scope: "namespaced",
  nameRule: "mixedCaseSubdomain",
  collection: deployments,
  labels: "all",
  annotations: isIstioKey,
  fields: {
    spec: {
      template: {
        metadata: { labels: true, annotations: true },
        spec: { ...containerFields, hostNetwork: true },
      },
    },
  },
  key: clusterKey,
  decode(manifest, report) {
    const template = Fields.of(manifest.body, report).object("spec").object("template");
    const metadata = template.object("metadata");
    const spec = template.object("spec");
    const annotations = Object.entries(metadata.stringMap("annotations")).filter(([key]) => isIstioKey(key));
    return {
      spec: {
        templateLabels: metadata.stringMap("labels"),
        templateAnnotations: Object.fromEntries(annotations),
        containers: readContainers(spec),
        ...readRunAsUser(spec),
        hostNetwork: spec.boolean("hostNetwork"),
      },
    };
  },
});
