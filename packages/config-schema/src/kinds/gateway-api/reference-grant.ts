import { collection, index } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { expectedLabel } from "../../validation/kubernetes/fields.js";
import { isLowerCaseLabel } from "../../validation/kubernetes/names.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";
import { requiredString } from "./checked-fields.js";
import { decodeGroupKind, type GroupKind } from "./references.js";

/** Objects of a kind in a namespace that may refer. */
export interface GrantedSource extends GroupKind {
  readonly namespace: string;
}

/** Objects of a kind in the namespace of the grant that may be referred to. */
export interface GrantedTarget extends GroupKind {
  /** Absent: all objects of the kind. */
  readonly name?: string;
}

export interface ReferenceGrantSpec {
  readonly from: readonly GrantedSource[];
  readonly to: readonly GrantedTarget[];
}

export type ReferenceGrantObject = ConfigObject<ReferenceGrantSpec>;

/** ReferenceGrants of the config cluster, by `ns/name`. */
export const referenceGrants = collection<ReferenceGrantObject>("ReferenceGrant", {
  filter: discoveryNamespacesFilter,
});

/** ReferenceGrants by `namespace/fromNamespace`: that of the grant, and those that it trusts. */
export const referenceGrantsByNamespaces = index(referenceGrants, "byNamespaces", ({ namespace, spec }) => [
  ...new Set(spec.from.map((from) => `${namespace}/${from.namespace}`)),
]);

export const referenceGrantKind = declareKind<ReferenceGrantSpec, undefined>({
  kind: "ReferenceGrant",
  group: "gateway.networking.k8s.io",
  versions: ["v1", "v1beta1"],
  scope: "namespaced",
  nameRule: "mixedCaseSubdomain",
  collection: referenceGrants,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: { spec: { from: { group: true, kind: true, namespace: true }, to: { group: true, kind: true, name: true } } },
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    return {
      spec: {
        from: spec.list("from").map((from) => ({
          ...decodeGroupKind(from),
          namespace: requiredString(from, "namespace", isLowerCaseLabel, expectedLabel),
        })),
        to: spec.list("to").map((to) => ({ ...decodeGroupKind(to), ...to.optionalString("name") })),
      },
    };
  },
});
