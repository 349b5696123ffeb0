import type { QueryContext } from "@istiod/incremental";
import { rootNamespace } from "../mesh/mesh-config.js";
import { selectorMatches } from "../proxy/labels.js";
import type { ConsolidatedRule } from "./consolidated-rule.js";
import { rulesByNamespace } from "./namespace-rules.js";

/** A service that a client sends requests to. */
export interface Destination {
  readonly host: string;
  /** The namespace that declares the service; empty if unknown. */
  readonly serviceNamespace: string;
}

/** The questions about a client that choose a DestinationRule. */
export interface RuleClient {
  inNamespace(namespace: string): boolean;
  matchesLabels(labels: Readonly<Record<string, string>>): boolean;
}

/** A workload whose rules are asked for without a client. */
export interface RuleWorkload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Returns the answers of a workload. */
export function clientOfWorkload({ namespace, labels }: RuleWorkload): RuleClient {
  return {
    inNamespace: (name) => name === namespace,
    matchesLabels: (selector) => selectorMatches(selector, labels),
  };
}

/**
 * Returns the candidate rules: those of the client's namespace, else those exported by the service's namespace, else by
 * the root namespace. Source: pilot/pkg/model/push_context.go, destinationRule.
 */
export function ruleCandidates(
  q: QueryContext,
  { host, serviceNamespace }: Destination,
  client: RuleClient,
): readonly ConsolidatedRule[] {
  const found = q.call(rulesByNamespace, host);
  const owners = Object.keys(found);
  if (owners.length === 0) return [];
  const root = rootNamespace(q);
  for (const owner of owners) {
    const own = owner === root ? found[owner]?.rootPrivate : found[owner]?.local;
    if (own === undefined || own.length === 0) continue;
    if (owner === serviceNamespace && owner !== root && isSameForAllClients(own, found[owner]?.exported)) continue;
    if (client.inNamespace(owner)) return own;
  }
  for (const owner of serviceNamespace === "" ? [root] : [serviceNamespace, root]) {
    const usable = (found[owner]?.exported ?? []).filter((rule) => isExportedToClient(rule, client));
    if (usable.length > 0) return usable;
  }
  return [];
}

/** Returns the candidate that applies: the first whose selector selects the client, else the last without one. */
export function applicableRule(
  rules: readonly ConsolidatedRule[],
  client: Pick<RuleClient, "matchesLabels">,
): ConsolidatedRule | undefined {
  for (const rule of rules) {
    const selector = rule.spec.workloadSelector;
    if (selector === undefined) continue;
    const labels = selector.matchLabels;
    if (Object.keys(labels).length === 0 || client.matchesLabels(labels)) return rule;
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

/** Reports whether a rule is exported to all namespaces. */
export function isPublic({ exportTo }: Pick<ConsolidatedRule, "exportTo">): boolean {
  return exportTo.length === 0 || exportTo.includes("*");
}

function isExportedToClient(rule: ConsolidatedRule, client: RuleClient): boolean {
  return (
    isPublic(rule) || rule.exportTo.some((target) => target !== "." && target !== "~" && client.inNamespace(target))
  );
}
