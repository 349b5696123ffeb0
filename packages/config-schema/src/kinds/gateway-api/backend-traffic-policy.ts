import { collection, index } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { optionalInteger, warnOfIgnored, warnOfOthers } from "./field-rules.js";
import { declareKind } from "../kind.js";
import { expectedDuration, isGatewayApiDuration, optionalChecked } from "./checked-fields.js";
import { decodeLocalReference, type LocalReference, targetKeys } from "./references.js";

/** Limits of retries. */
export interface RetryConstraint {
  readonly budget: {
    /** Percentage of active requests that may be retries. Absent: not set. */
    readonly percent?: number;
    /** A duration such as `10s`. */
    readonly interval?: string;
  };
  /** Retries that are always allowed: `count` in each `interval`. */
  readonly minRetryRate?: { readonly count?: number; readonly interval?: string };
}

export interface BackendTrafficPolicySpec {
  readonly targetRefs: readonly LocalReference[];
  readonly retryConstraint?: RetryConstraint;
  /** Reports whether it is set. It has no effect. */
  readonly sessionPersistence: boolean;
}

export type BackendTrafficPolicyObject = ConfigObject<BackendTrafficPolicySpec>;

/** XBackendTrafficPolicies of the config cluster, by `ns/name`. */
export const backendTrafficPolicies = collection<BackendTrafficPolicyObject>("XBackendTrafficPolicy", {
  filter: discoveryNamespacesFilter,
});

/** XBackendTrafficPolicies by `namespace/kind/name` of the objects that they apply to. */
export const backendTrafficPoliciesByTarget = index(backendTrafficPolicies, "byTarget", ({ namespace, spec }) =>
  targetKeys(spec.targetRefs, namespace),
);

export const backendTrafficPolicyKind = declareKind<BackendTrafficPolicySpec, undefined>({
  kind: "XBackendTrafficPolicy",
  group: "gateway.networking.x-k8s.io",
  versions: ["v1alpha1"],
  scope: "namespaced",
  nameRule: "mixedCaseSubdomain",
  collection: backendTrafficPolicies,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: { spec: true },
  hasGeneration: true,
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    warnOfIgnored(spec, "sessionPersistence", "Istio does not implement it; use a DestinationRule's consistentHash");
    warnOfOthers(spec, ["targetRefs", "retryConstraint", "sessionPersistence"]);
    const retries = spec.object("retryConstraint");
    return {
      spec: {
        targetRefs: spec.list("targetRefs").map(decodeLocalReference),
        ...(retries.present && { retryConstraint: decodeRetryConstraint(retries) }),
        sessionPersistence: spec.object("sessionPersistence").present,
      },
    };
  },
});

function decodeRetryConstraint(fields: Fields): RetryConstraint {
  const budget = fields.object("budget");
  const rate = fields.object("minRetryRate");
  // The API server sets the default.
  if (rate.string("interval", "1s") !== "1s")
    warnOfIgnored(rate, "interval", "Envoy limits concurrent retries, of which there may always be count");
  return {
    budget: {
      ...optionalInteger(budget, "percent", 0, 100),
      ...optionalChecked(budget, "interval", isGatewayApiDuration, expectedDuration),
    },
    ...(rate.present && {
      minRetryRate: {
        ...optionalInteger(rate, "count", 1, 1_000_000),
        ...optionalChecked(rate, "interval", isGatewayApiDuration, expectedDuration),
      },
    }),
  };
}
