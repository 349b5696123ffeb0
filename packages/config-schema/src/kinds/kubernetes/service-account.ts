import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

/** Content of a ServiceAccount. Its existence is all that is read. */
export type ServiceAccountSpec = Readonly<Record<string, never>>;
export type ServiceAccountObject = ConfigObject<ServiceAccountSpec>;

/** ServiceAccounts by `cluster/ns/name`. */
export const serviceAccounts = collection<ServiceAccountObject>("ServiceAccount", {
  filter: discoveryNamespacesFilter,
});

export const serviceAccountKind = declareKind<ServiceAccountSpec, undefined>({
  kind: "ServiceAccount",
  group: "",
  versions: ["v1"],
  scope: "namespaced",
  collection: serviceAccounts,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: {},
  key: clusterKey,
  decode: () => ({ spec: {} }),
});
