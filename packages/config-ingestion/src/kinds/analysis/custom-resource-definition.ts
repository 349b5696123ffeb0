import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { isIstioKey } from "../istio-keys.js";
import { declareKind } from "../kind.js";

/** Of a CustomResourceDefinition only the metadata is read: annotations tell which release of the Gateway API it is of. */
export type CustomResourceDefinitionObject = ConfigObject<Readonly<Record<string, never>>>;

/** Keyed `cluster/name`. Only analysis reads them. */
export const customResourceDefinitions = collection<CustomResourceDefinitionObject>("CustomResourceDefinition");

export const customResourceDefinitionKind = declareKind<Readonly<Record<string, never>>, undefined>({
  kind: "CustomResourceDefinition",
  group: "apiextensions.k8s.io",
  versions: ["v1"],
  scope: "cluster",
  collection: customResourceDefinitions,
  labels: isIstioKey,
  annotations: isIstioKey,
  key: clusterKey,
  decode: () => ({ spec: {} }),
});
