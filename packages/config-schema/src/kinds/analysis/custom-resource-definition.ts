import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

/** The kind that a CustomResourceDefinition defines. Its annotations name the release of the Gateway API. */
export interface CustomResourceDefinitionSpec {
  readonly group: string;
  readonly definedKind: string;
}

export type CustomResourceDefinitionObject = ConfigObject<CustomResourceDefinitionSpec>;

/** CustomResourceDefinitions by `cluster/name`, read by analysis only. */
export const customResourceDefinitions = collection<CustomResourceDefinitionObject>("CustomResourceDefinition");

export const customResourceDefinitionKind = declareKind<CustomResourceDefinitionSpec, undefined>({
  kind: "CustomResourceDefinition",
  group: "apiextensions.k8s.io",
  versions: ["v1"],
  scope: "cluster",
  nameRule: "mixedCaseSubdomain",
  collection: customResourceDefinitions,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: { spec: { group: true, names: { kind: true } } },
  key: clusterKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    return { spec: { group: spec.string("group"), definedKind: spec.object("names").string("kind") } };
  },
});
