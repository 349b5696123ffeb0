import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import { backendTrafficPolicies, type LocalReference } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import {
  type TrafficPolicy_RetryBudget,
  TrafficPolicy_RetryBudgetSchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { parseGoDuration } from "@istiod/settings";
import type { StatusFault } from "../status/conditions.js";
import { isIgnoredPolicy, policyTarget, type PolicyTarget } from "./policy-target.js";

/** One of the targets of an XBackendTrafficPolicy. */
export interface TrafficPolicyTarget {
  readonly ref: LocalReference;
  /** Undefined if it does not exist. */
  readonly target?: PolicyTarget;
  readonly hosts: readonly string[];
  readonly fault?: StatusFault;
}

/** The targets of an XBackendTrafficPolicy (`namespace/name`), which are Services. None if it is ignored. */
export const targetsOfTrafficPolicy = query(
  "gatewayApiTargetsOfTrafficPolicy",
  (q, key: string): readonly TrafficPolicyTarget[] => {
    const policy = q.read(backendTrafficPolicies, key);
    if (policy === undefined || isIgnoredPolicy(policy)) return [];
    return policy.spec.targetRefs.map((ref) => {
      const found = policyTarget(q, ref, policy.namespace);
      if (!("fault" in found) && found.target.kind === "Service")
        return { ref, target: found.target, hosts: found.hosts };
      const why = "fault" in found ? found.fault : `unsupported reference kind: ${ref.kind}`;
      return { ref, hosts: [], fault: { reason: "TargetNotFound", message: `targetRefs invalid: ${why}` } };
    });
  },
);

/** Defaults of the Gateway API. */
const defaultInterval = "10s";
const defaultMinRetries = 10;

/** The retry budget that an XBackendTrafficPolicy (`namespace/name`) declares. */
export const retryBudgetOf = query("gatewayApiRetryBudget", (q, key: string): TrafficPolicy_RetryBudget | undefined => {
  const constraint = q.read(backendTrafficPolicies, key)?.spec.retryConstraint;
  if (constraint === undefined) return undefined;
  const { percent, interval = defaultInterval } = constraint.budget;
  return create(TrafficPolicy_RetryBudgetSchema, {
    ...(percent !== undefined && { percent }),
    budgetInterval: durationOf(interval),
    minRetryConcurrency: constraint.minRetryRate?.count ?? defaultMinRetries,
  });
});

function durationOf(text: string): Duration {
  const nanoseconds = parseGoDuration(text) ?? 0n;
  return create(DurationSchema, {
    seconds: nanoseconds / 1_000_000_000n,
    nanos: Number(nanoseconds % 1_000_000_000n),
  });
}
