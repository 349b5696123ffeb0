import type { DestinationRuleObject } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { isPublic } from "./consolidated-rule.js";
import { findSubset } from "./effective-policy.js";
import { isPrivateByDefault, rulesByNamespace, rulesForHost } from "./namespace-rules.js";
import type { Destination } from "./rule-candidates.js";

/** Returns the rules for a host that define a subset, in all namespaces and whoever they apply to. */
export function rulesDefiningSubset(q: QueryContext, host: string, subset: string): readonly DestinationRuleObject[] {
  return rulesForHost(q, host).filter(({ spec }) => findSubset(spec, subset) !== undefined);
}

/**
 * Reports whether all clients have the same rule for a service, whatever their namespaces and labels: there is none, or
 * one, which is public, without a workload selector, and in the service's namespace. Most services are like that.
 */
export function isSameForAllWorkloads(q: QueryContext, { host, serviceNamespace }: Destination): boolean {
  const [sole, ...others] = rulesForHost(q, host);
  if (sole === undefined) return true;
  if (others.length === 0) return sole.namespace === serviceNamespace && isForEveryClient(q, sole);
  const found = q.call(rulesByNamespace, host);
  const owners = Object.keys(found);
  if (owners.length === 0) return true;
  const { local = [], exported: [exported = []] = [] } = found[serviceNamespace] ?? {};
  const all = [...local, ...exported];
  return (
    owners.length === 1 &&
    local.length === 1 &&
    exported.length === 1 &&
    all.every((rule) => isPublic(rule) && rule.spec.workloadSelector === undefined)
  );
}

/** Reports whether a rule is exported to every client and selects all of them. */
function isForEveryClient(q: QueryContext, { spec: { exportTo, workloadSelector } }: DestinationRuleObject): boolean {
  if (workloadSelector !== undefined || !isPublic({ exportTo })) return false;
  return exportTo.length > 0 || !isPrivateByDefault(q);
}
