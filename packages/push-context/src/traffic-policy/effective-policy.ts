import { create } from "@bufbuild/protobuf";
import {
  type DestinationRule,
  type Subset,
  type TrafficPolicy,
  type TrafficPolicy_PortTrafficPolicy,
  TrafficPolicySchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { MeshConfig_DefaultTrafficPolicy } from "@istiod/istio-api/mesh/v1alpha1/config";

/**
 * Returns the policy for one port: its port-level settings, which inherit nothing, else the policy itself. Source:
 * DestinationRule, `TrafficPolicy.port_level_settings`.
 */
export function portPolicy(policy: TrafficPolicy | undefined, port: number): TrafficPolicy | undefined {
  const own = portSettings(policy, port);
  return own === undefined ? policy : toPolicy(own);
}

/**
 * Returns the policy of a subset's port over that of the destination. Port-level settings of the subset replace all
 * four fields that they can set, even if unset.
 */
export function subsetPolicy(
  destination: TrafficPolicy | undefined,
  subset: TrafficPolicy | undefined,
  port: number,
): TrafficPolicy | undefined {
  const base = portPolicy(destination, port);
  if (subset === undefined) return base;
  const own = portPolicy(subset, port);
  if (base === undefined || own === undefined) return own ?? base;
  return overlayPolicy(base, own, portSettings(subset, port) !== undefined);
}

/**
 * Returns `base` with the fields that `over` sets replaced, without port-level settings. With `replacing`, fields that
 * `over` does not set are removed.
 */
export function overlayPolicy(base: TrafficPolicy, over: TrafficPolicy, replacing = false): TrafficPolicy {
  const out = withoutPorts(base);
  for (const field of portFields) {
    if (over[field] !== undefined) Object.assign(out, { [field]: over[field] });
    else if (replacing) delete out[field];
  }
  if (over.tunnel !== undefined) out.tunnel = over.tunnel;
  if (over.proxyProtocol !== undefined) out.proxyProtocol = over.proxyProtocol;
  if (over.retryBudget !== undefined) out.retryBudget = over.retryBudget;
  return out;
}

/** Returns the policy with the mesh's default connection pool and outlier detection for those that it does not set. */
export function withMeshDefaults(
  defaults: MeshConfig_DefaultTrafficPolicy | undefined,
  policy: TrafficPolicy | undefined,
): TrafficPolicy | undefined {
  const connectionPool = policy?.connectionPool === undefined ? defaults?.connectionPool : undefined;
  const outlierDetection = policy?.outlierDetection === undefined ? defaults?.outlierDetection : undefined;
  if (connectionPool === undefined && outlierDetection === undefined) return policy;
  const out = policy === undefined ? create(TrafficPolicySchema) : withoutPorts(policy);
  if (connectionPool !== undefined) out.connectionPool = connectionPool;
  if (outlierDetection !== undefined) out.outlierDetection = outlierDetection;
  return out;
}

export function findSubset(rule: DestinationRule | undefined, name: string): Subset | undefined {
  return rule?.subsets.find((subset) => subset.name === name);
}

const portFields = ["connectionPool", "outlierDetection", "loadBalancer", "tls"] as const;

/** Returns a shallow copy without port-level settings. */
function withoutPorts(policy: TrafficPolicy): TrafficPolicy {
  const out = create(TrafficPolicySchema);
  for (const field of [...portFields, "tunnel", "proxyProtocol", "retryBudget"] as const) {
    if (policy[field] !== undefined) Object.assign(out, { [field]: policy[field] });
  }
  return out;
}

function portSettings(policy: TrafficPolicy | undefined, port: number): TrafficPolicy_PortTrafficPolicy | undefined {
  return policy?.portLevelSettings.find((settings) => settings.port?.number === port);
}

function toPolicy(settings: TrafficPolicy_PortTrafficPolicy): TrafficPolicy {
  const out = create(TrafficPolicySchema);
  for (const field of portFields) {
    if (settings[field] !== undefined) Object.assign(out, { [field]: settings[field] });
  }
  return out;
}
