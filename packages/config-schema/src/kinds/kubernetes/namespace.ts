import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

/** Content of a Namespace, of which only the metadata is read. */
export type NamespaceSpec = Readonly<Record<string, never>>;
export type NamespaceObject = ConfigObject<NamespaceSpec>;

/** Namespaces by `cluster/name`. */
export const namespaces = collection<NamespaceObject>("Namespace");

export const namespaceKind = declareKind<NamespaceSpec, undefined>({
  kind: "Namespace",
  group: "",
  versions: ["v1"],
  scope: "cluster",
  nameRule: "label",
  collection: namespaces,
  labels: "all",
  annotations: isIstioKey,
  fields: {},
  key: clusterKey,
  decode: () => ({ spec: {} }),
});
