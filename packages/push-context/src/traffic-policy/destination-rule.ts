import { query, type QueryContext } from "@istiod/incremental";
import type { Subset, TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { mesh, rootNamespace } from "../mesh/mesh-config.js";
import { inNamespace, matchesLabels } from "../proxy/facts.js";
import type { ConsolidatedRule } from "./consolidated-rule.js";
import { portPolicy, subsetPolicy, findSubset, withMeshDefaults } from "./effective-policy.js";
import { rulesByNamespace } from "./namespace-rules.js";

/** A service that a client sends requests to. */
export interface Destination {
  readonly host: string;
  /** The namespace that declares the service; empty if unknown. */
  readonly serviceNamespace: string;
}

/** A port of a service or of one of its subsets. */
export interface PolicyTarget extends Destination {
  readonly port: number;
  /** Absent or empty for the service itself. */
  readonly subset?: string;
}

/** The DestinationRule that applies to the client's requests to a service. */
export const destinationRuleFor = query(
  "destinationRuleFor",
  (q, { host, serviceNamespace }: Destination) => outboundRule(q, candidates(q, host, serviceNamespace)),
  { key: destinationKey },
);

function destinationKey({ host, serviceNamespace }: Destination): string {
  return `${serviceNamespace}/${host}`;
}

/**
 * The DestinationRule that applies to requests that the client receives for a service. Rules with a workload selector
 * are ignored.
 */
export const inboundDestinationRuleFor = query(
  "inboundDestinationRuleFor",
  (q, { host, serviceNamespace }: Destination) =>
    candidates(q, host, serviceNamespace).findLast((rule) => rule.spec.workloadSelector === undefined),
);

/** The traffic policy for the client's requests to a port: the subset's over the rule's, with the mesh's defaults. */
export const trafficPolicyFor = query(
  "trafficPolicyFor",
  (q, { host, serviceNamespace, port, subset = "" }: PolicyTarget): TrafficPolicy | undefined => {
    const rule = q.call(destinationRuleFor, { host, serviceNamespace })?.spec;
    const own = withMeshDefaults(mesh(q).defaultTrafficPolicy, portPolicy(rule?.trafficPolicy, port));
    return subset === "" ? own : subsetPolicy(own, findSubset(rule, subset)?.trafficPolicy, port);
  },
);

/** The subsets of a service as the client sees them. */
export const subsetsOf = query(
  "subsetsOf",
  (q, destination: Destination): readonly Subset[] => q.call(destinationRuleFor, destination)?.spec.subsets ?? [],
);

/**
 * Returns the candidate rules: those of the client's namespace, else those exported by the service's namespace, else by
 * the root namespace. Source: pilot/pkg/model/push_context.go, destinationRule.
 */
function candidates(q: QueryContext, host: string, serviceNamespace: string): readonly ConsolidatedRule[] {
  const found = q.call(rulesByNamespace, host);
  const owners = Object.keys(found);
  if (owners.length === 0) return [];
  const root = rootNamespace(q);
  for (const owner of owners) {
    const own = owner === root ? found[owner]?.rootPrivate : found[owner]?.local;
    if (own === undefined || own.length === 0) continue;
    if (owner === serviceNamespace && owner !== root && isSameForAllClients(own, found[owner]?.exported)) continue;
    if (q.ask(inNamespace, owner)) return own;
  }
  for (const owner of serviceNamespace === "" ? [root] : [serviceNamespace, root]) {
    const usable = (found[owner]?.exported ?? []).filter((rule) => isExportedToClient(q, rule));
    if (usable.length > 0) return usable;
  }
  return [];
}

function outboundRule(q: QueryContext, rules: readonly ConsolidatedRule[]): ConsolidatedRule | undefined {
  for (const rule of rules) {
    const selector = rule.spec.workloadSelector;
    if (selector === undefined) continue;
    const labels = selector.matchLabels;
    if (Object.keys(labels).length === 0 || q.ask(matchesLabels, labels)) return rule;
  }
  return rules.findLast((rule) => rule.spec.workloadSelector === undefined);
}

/** Reports whether clients of the rule's namespace get the same rules as all other clients. */
function isSameForAllClients(
  local: readonly ConsolidatedRule[],
  exported: readonly ConsolidatedRule[] | undefined,
): boolean {
  const names = (rules: readonly ConsolidatedRule[]): string => JSON.stringify(rules.map((rule) => rule.from));
  return exported !== undefined && exported.every(isPublic) && names(local) === names(exported);
}

function isPublic(rule: ConsolidatedRule): boolean {
  return rule.exportTo.length === 0 || rule.exportTo.includes("*");
}

function isExportedToClient(q: QueryContext, rule: ConsolidatedRule): boolean {
  return (
    isPublic(rule) || rule.exportTo.some((target) => target !== "." && target !== "~" && q.ask(inNamespace, target))
  );
}
