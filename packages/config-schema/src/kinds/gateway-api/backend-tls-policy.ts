import { collection, index } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { warnOfIgnored, warnOfOthers } from "./field-rules.js";
import { declareKind } from "../kind.js";
import { type BackendTlsValidation, decodeBackendTlsValidation } from "./backend-tls-validation.js";
import { decodeLocalReference, type LocalReference, targetKeys } from "./references.js";

/** A backend of a policy's namespace, or one of its ports. */
export interface SectionReference extends LocalReference {
  /** Name of a port. Absent: all ports. */
  readonly sectionName?: string;
}

export interface BackendTlsPolicySpec {
  readonly targetRefs: readonly SectionReference[];
  readonly validation: BackendTlsValidation;
}

export type BackendTlsPolicyObject = ConfigObject<BackendTlsPolicySpec>;

/** BackendTLSPolicies of the config cluster, by `ns/name`. */
export const backendTlsPolicies = collection<BackendTlsPolicyObject>("BackendTLSPolicy", {
  filter: discoveryNamespacesFilter,
});

/** BackendTLSPolicies by `namespace/kind/name` of the objects that they apply to. */
export const backendTlsPoliciesByTarget = index(backendTlsPolicies, "byTarget", ({ namespace, spec }) =>
  targetKeys(spec.targetRefs, namespace),
);

export const backendTlsPolicyKind = declareKind<BackendTlsPolicySpec, undefined>({
  kind: "BackendTLSPolicy",
  group: "gateway.networking.k8s.io",
  versions: ["v1", "v1alpha3"],
  scope: "namespaced",
  nameRule: "mixedCaseSubdomain",
  collection: backendTlsPolicies,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: { spec: true },
  hasGeneration: true,
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    warnOfIgnored(spec, "options", "Istio has no options of policies");
    warnOfOthers(spec, ["targetRefs", "validation", "options"]);
    return {
      spec: {
        targetRefs: spec.list("targetRefs").map((target) => {
          warnOfOthers(target, ["group", "kind", "name", "sectionName"]);
          return { ...decodeLocalReference(target), ...target.optionalString("sectionName") };
        }),
        validation: decodeBackendTlsValidation(spec.object("validation")),
      },
    };
  },
});
