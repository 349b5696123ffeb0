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
 * The policy for one port: its own settings where it has some, which then stand alone (nothing is inherited), else the
 * policy itself. Source: DestinationRule, `TrafficPolicy.port_level_settings`.
 */
export function portPolicy(policy: TrafficPolicy | undefined, port: number): TrafficPolicy | undefined {
  const own = portSettings(policy, port);
  return own === undefined ? policy : ofPortSettings(own);
}

/**
 * The policy of a subset's port over that of the destination. A port's settings at the subset replace all four kinds
 * that a port can set.
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
 * What `over` sets takes the place of what `base` sets, block by block; settings of ports are left out. With
 * `replacing`, also what `over` leaves out.
 */
export function overlayPolicy(base: TrafficPolicy, over: TrafficPolicy, replacing = false): TrafficPolicy {
  const out = withoutPorts(base);
  for (const block of portBlocks) {
    if (over[block] !== undefined) Object.assign(out, { [block]: over[block] });
    else if (replacing) delete out[block];
  }
  if (over.tunnel !== undefined) out.tunnel = over.tunnel;
  if (over.proxyProtocol !== undefined) out.proxyProtocol = over.proxyProtocol;
  if (over.retryBudget !== undefined) out.retryBudget = over.retryBudget;
  return out;
}

/** The mesh's default connection pool and outlier detection, each where the policy has none of its own. */
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

const portBlocks = ["connectionPool", "outlierDetection", "loadBalancer", "tls"] as const;

/** A copy that shares the blocks and has no settings of ports. */
function withoutPorts(policy: TrafficPolicy): TrafficPolicy {
  const out = create(TrafficPolicySchema);
  for (const block of [...portBlocks, "tunnel", "proxyProtocol", "retryBudget"] as const) {
    if (policy[block] !== undefined) Object.assign(out, { [block]: policy[block] });
  }
  return out;
}

function portSettings(policy: TrafficPolicy | undefined, port: number): TrafficPolicy_PortTrafficPolicy | undefined {
  return policy?.portLevelSettings.find((settings) => settings.port?.number === port);
}

function ofPortSettings(settings: TrafficPolicy_PortTrafficPolicy): TrafficPolicy {
  const out = create(TrafficPolicySchema);
  for (const block of portBlocks) {
    if (settings[block] !== undefined) Object.assign(out, { [block]: settings[block] });
  }
  return out;
}
