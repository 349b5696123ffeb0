import { toBinary } from "@bufbuild/protobuf";
import type { QueryContext } from "@istiod/incremental";
import {
  type DestinationRule,
  SubsetSchema,
  type Subset,
  TrafficPolicySchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features } from "../mesh/features.js";
import type { ConsolidatedRule } from "./consolidated-rule.js";
import { isWildcard } from "./host-pattern.js";
import { policyOverBound } from "./policy-product.js";
import { wildcardSubsets } from "./wildcard-subsets.js";

/** Subsets for which a service has clusters, and those that are left out because they are too many. */
export interface ServedSubsets {
  /** The reason for which the service has no clusters, not even its own; absent if it has them. */
  readonly reasonWithoutClusters?: string;
  readonly served: readonly Subset[];
  /** Number of the rule's subsets beyond the bounds. */
  readonly leftOut: number;
  /** The numbers and the variable that raises the bound; absent if none is left out. */
  readonly reason?: string;
}

/** Up to this many clusters, sizes of policies are not computed. */
const fewClusters = 256;

/**
 * Returns the subsets of a rule for which each port of a service has a cluster. Ports and subsets are lists of several
 * objects, neither of which is wrong by itself. The first subsets are served and the others are left out. If the rule's
 * policy is too large for all ports, there are no clusters.
 */
export function servedSubsets(
  q: QueryContext,
  { ports, namespace }: SubsetsTarget,
  rule: Pick<ConsolidatedRule, "namespace" | "spec"> | undefined,
): ServedSubsets {
  const subsets = rule?.spec.subsets ?? [];
  if (rule === undefined) return { served: [], leftOut: 0 };
  const reasonWithoutClusters = policyOverBound(q, { ports, namespace }, rule);
  if (reasonWithoutClusters !== undefined) return { reasonWithoutClusters, served: [], leftOut: subsets.length };
  if (subsets.length === 0) return { served: subsets, leftOut: 0 };
  const { host } = rule.spec;
  if (isWildcard(host)) {
    const counted = namespace === rule.namespace ? namespace : undefined;
    const { count, reason } = wildcardSubsets(q, { host, subsets: subsets.length, namespace: counted });
    if (reason !== undefined)
      return firstOf(subsets, Math.min(count, withinBounds(q, ports, rule.spec).served.length), reason);
  }
  return withinBounds(q, ports, rule.spec);
}

/** A service, as far as the number of its clusters depends on it. */
export interface SubsetsTarget {
  /** Number of ports that have clusters. */
  readonly ports: number;
  readonly namespace: string;
}

/** Returns the subsets of one service within the bounds of a service. */
function withinBounds(
  q: QueryContext,
  ports: number,
  rule: Pick<DestinationRule, "subsets" | "trafficPolicy">,
): ServedSubsets {
  const { subsets } = rule;
  const count = ports * (subsets.length + 1);
  if (count <= fewClusters) return { served: subsets, leftOut: 0 };
  const clusters = features.maxClusters(q);
  const byCount = Math.max(0, Math.floor(clusters / ports) - 1);
  if (byCount < subsets.length)
    return firstOf(
      subsets,
      byCount,
      `${ports} ports × ${subsets.length + 1} subsets and the service itself = ${count} clusters, of at most ${clusters} (${features.maxClusters.variable})`,
    );
  const bytes = features.maxCopiedBytes(q);
  const bySize = withinBytes(rule, ports, bytes);
  return bySize < subsets.length
    ? firstOf(
        subsets,
        bySize,
        `${ports} ports × the policies of ${subsets.length} subsets are more than ${bytes} bytes (${features.maxCopiedBytes.variable})`,
      )
    : { served: subsets, leftOut: 0 };
}

function firstOf(subsets: readonly Subset[], count: number, reason: string): ServedSubsets {
  return { served: subsets.slice(0, count), leftOut: subsets.length - count, reason };
}

/** Returns the number of subsets whose policies, with the rule's, fit into a number of bytes at all ports. */
function withinBytes(
  { trafficPolicy, subsets }: Pick<DestinationRule, "subsets" | "trafficPolicy">,
  ports: number,
  bytes: number,
): number {
  const common = trafficPolicy === undefined ? 0 : toBinary(TrafficPolicySchema, trafficPolicy).length;
  let sum = ports * common;
  for (const [index, subset] of subsets.entries()) {
    sum += ports * (common + toBinary(SubsetSchema, subset).length);
    if (sum > bytes) return index;
  }
  return subsets.length;
}
