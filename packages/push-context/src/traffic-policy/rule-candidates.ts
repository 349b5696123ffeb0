import type { QueryContext } from "@istiod/incremental";
import { rootNamespace } from "../mesh/mesh-config.js";
import { selectorMatches } from "../proxy/labels.js";
import { type ConsolidatedRule, isPublic } from "./consolidated-rule.js";
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
 * the root namespace. Rules with a workload selector are followed by those of the next level, for clients that they do
 * not select. Source: pilot/pkg/model/push_context.go, destinationRule, where they are not.
 */
export function ruleCandidates(
  q: QueryContext,
  destination: Destination,
  client: RuleClient,
): readonly ConsolidatedRule[] {
  const found = q.call(rulesByNamespace, destination.host);
  if (Object.keys(found).length === 0) return [];
  const own = ownRules(q, destination, client);
  if (own.some(({ spec }) => spec.workloadSelector === undefined)) return own;
  const root = rootNamespace(q);
  const { serviceNamespace } = destination;
  for (const owner of serviceNamespace === "" ? [root] : [serviceNamespace, root]) {
    for (const group of found[owner]?.exported ?? []) {
      const usable = group.filter((rule) => isExportedToClient(rule, client));
      if (usable.length > 0) return [...own, ...usable];
    }
  }
  return own;
}

/** Returns the rules of the client's namespace; none if they are those that the namespace exports to everybody. */
function ownRules(
  q: QueryContext,
  { host, serviceNamespace }: Destination,
  client: RuleClient,
): readonly ConsolidatedRule[] {
  const root = rootNamespace(q);
  for (const [owner, { local, rootPrivate, exported }] of Object.entries(q.call(rulesByNamespace, host))) {
    const own = owner === root ? rootPrivate : local;
    if (own.length === 0) continue;
    if (owner === serviceNamespace && owner !== root && isSameForAllClients(own, exported)) continue;
    if (client.inNamespace(owner)) return own;
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
  [exported]: readonly (readonly ConsolidatedRule[])[],
): boolean {
  const names = (rules: readonly ConsolidatedRule[]): string => JSON.stringify(rules.map((rule) => rule.from));
  return exported !== undefined && exported.every(isPublic) && names(local) === names(exported);
}

function isExportedToClient(rule: ConsolidatedRule, client: RuleClient): boolean {
  return (
    isPublic(rule) || rule.exportTo.some((target) => target !== "." && target !== "~" && client.inNamespace(target))
  );
}
