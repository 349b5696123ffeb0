import { create, toBinary } from "@bufbuild/protobuf";
import type { QueryContext } from "@istiod/incremental";
import {
  type DestinationRule,
  LoadBalancerSettingsSchema,
  type TrafficPolicy,
  TrafficPolicy_PortTrafficPolicySchema,
  TrafficPolicySchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features } from "../mesh/features.js";
import type { ConsolidatedRule } from "./consolidated-rule.js";
import { isWildcard } from "./host-pattern.js";
import { coveredPorts } from "./wildcard-subsets.js";

/** Policies up to this many bytes are no more than the rest of a cluster. */
const fewBytes = 4096;

/**
 * The reason why a service has no clusters: each of its ports repeats the policy of the rule, with a wildcard host also
 * each port of all other services that it covers, and they would be too many bytes in all. Undefined if it has
 * clusters. Without the policy a cluster could be less strict, such as with other names of the peer, so requests fail
 * instead.
 *
 * @param service the number of its ports that have clusters, and its namespace; undefined for any namespace but the
 *   rule's, services of which count all ports that a wildcard host covers
 */
export function policyOverBound(
  q: QueryContext,
  service: { readonly ports: number; readonly namespace: string | undefined },
  rule: Pick<ConsolidatedRule, "namespace" | "spec">,
): string | undefined {
  const { ports, namespace } = service;
  const { host } = rule.spec;
  const bytes = repeatedBytes(rule.spec);
  if (bytes <= fewBytes) return undefined;
  const counted = namespace === rule.namespace ? namespace : undefined;
  const count = isWildcard(host) ? q.call(coveredPorts, { host, namespace: counted }) : ports;
  const bound = features.maxRulePolicyBytes(q);
  if (count * bytes <= bound) return undefined;
  const covered = isWildcard(host) ? "ports of all services" : "ports";
  return `${count} ${covered} × ${bytes} bytes of policies = ${count * bytes} bytes, of at most ${bound} (${features.maxRulePolicyBytes.variable})`;
}

const sizes = new WeakMap<DestinationRule, number>();

/** Returns the bytes of a rule that the clusters of a port repeat, at most. */
function repeatedBytes(rule: DestinationRule): number {
  const known = sizes.get(rule);
  if (known !== undefined) return known;
  const size = sizeOf(rule);
  sizes.set(rule, size);
  return size;
}

function sizeOf(rule: DestinationRule): number {
  try {
    return policyBytes(rule);
  } catch {
    // A policy that cannot be encoded fails the clusters that have it, and not all clusters of the service.
    return 0;
  }
}

function policyBytes(rule: DestinationRule): number {
  const own = bytesOf(rule.trafficPolicy);
  // The subsets of one service are bounded by themselves, and the last are left out.
  const subsets = isWildcard(rule.host) ? rule.subsets : [];
  return subsets.reduce((sum, { trafficPolicy }) => sum + own + bytesOf(trafficPolicy), own);
}

/**
 * Returns the bytes of a policy in the cluster of a port, at most: one of the policies of ports replaces it. Settings
 * of localities are no part of clusters.
 */
function bytesOf(policy: TrafficPolicy | undefined): number {
  if (policy === undefined) return 0;
  const common = toBinary(
    TrafficPolicySchema,
    create(TrafficPolicySchema, {
      ...policy,
      portLevelSettings: [],
      ...(policy.loadBalancer && { loadBalancer: withoutLocalities(policy.loadBalancer) }),
    }),
  ).length;
  const ofPorts = policy.portLevelSettings.map(
    (one) =>
      toBinary(
        TrafficPolicy_PortTrafficPolicySchema,
        create(TrafficPolicy_PortTrafficPolicySchema, {
          ...one,
          ...(one.loadBalancer && { loadBalancer: withoutLocalities(one.loadBalancer) }),
        }),
      ).length,
  );
  return ofPorts.reduce((most, bytes) => Math.max(most, bytes), common);
}

function withoutLocalities(settings: NonNullable<TrafficPolicy["loadBalancer"]>): typeof settings {
  return create(LoadBalancerSettingsSchema, { ...settings, localityLbSetting: undefined });
}
