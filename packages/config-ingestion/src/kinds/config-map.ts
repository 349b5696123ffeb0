import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../config-object.js";
import { Fields } from "../documents/fields.js";
import { isIstioKey } from "./istio-keys.js";
import { declareKind } from "./kind.js";

export interface ConfigMapSpec {
  readonly data: Readonly<Record<string, string>>;
}
export type ConfigMapObject = ConfigObject<ConfigMapSpec>;

/** Keyed `cluster/ns/name`. */
export const configMaps = collection<ConfigMapObject>("ConfigMap");

export const configMapKind = declareKind<ConfigMapSpec, undefined>({
  kind: "ConfigMap",
  group: "",
  versions: ["v1"],
  scope: "namespaced",
  collection: configMaps,
  labels: isIstioKey,
  annotations: isIstioKey,
  key: clusterKey,
  decode: (manifest, report) => ({ spec: { data: Fields.of(manifest.body, report).stringMap("data") } }),
});
