import { collection, index } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { expectedLabel } from "../../validation/kubernetes/fields.js";
import { isLowerCaseLabel } from "../../validation/kubernetes/names.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { warnOfOthers } from "./field-rules.js";
import { declareKind } from "../kind.js";
import { isAnyText, requiredString } from "./checked-fields.js";
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

/** References that a grant permits: of the objects of a kind in a namespace to one object, or all, of another kind. */
export interface GrantedReference {
  readonly from: GrantedSource;
  readonly to: GrantedTarget & { readonly namespace: string };
}

/** Returns the key of references in {@link referenceGrantsByReference}. */
export function grantedReferenceKey({ from, to }: GrantedReference): string {
  const source = `${from.group}/${from.kind}/${from.namespace}`;
  const target = `${to.group}/${to.kind}/${to.namespace}`;
  return to.name === undefined ? `${source} ${target}` : `${source} ${target}/${to.name}`;
}

/** ReferenceGrants by the references that they permit: {@link grantedReferenceKey}. */
export const referenceGrantsByReference = index(referenceGrants, "byReference", ({ namespace, spec }) => [
  ...new Set(spec.from.flatMap((from) => spec.to.map((to) => grantedReferenceKey({ from, to: { ...to, namespace } })))),
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
  fields: { spec: true },
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    warnOfOthers(spec, ["from", "to"]);
    return {
      spec: {
        from: spec.list("from").map((from) => ({
          ...decodeGroupKind(from),
          namespace: requiredString(from, "namespace", isLowerCaseLabel, expectedLabel),
        })),
        to: spec.list("to").map((to) => ({
          ...decodeGroupKind(to),
          ...(to.has("name") && { name: requiredString(to, "name", isAnyText, "the name of an object, or no name") }),
        })),
      },
    };
  },
});
