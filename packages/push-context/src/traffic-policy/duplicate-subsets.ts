import { type DestinationRuleObject, destinationRules } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { features } from "../mesh/features.js";
import { byPrecedence, consolidate } from "./consolidated-rule.js";

/** Hosts for which the rules of one namespace declare a subset more than once, sorted. */
export const hostsWithDuplicateSubsets = query("hostsWithDuplicateSubsets", (q): readonly string[] => {
  const domain = features.domainSuffix(q);
  const groups = new Map<string, DestinationRuleObject[]>();
  for (const rule of q.all(destinationRules)) {
    const bucket = `${rule.namespace} ${fullHost(rule, domain)}`;
    groups.set(bucket, [...(groups.get(bucket) ?? []), rule]);
  }
  const repeating = [...groups.values()].filter((rules) =>
    repeatsSubset(rules.sort(byPrecedence), features.enhancedDestinationRuleMerge(q)),
  );
  return [...new Set(repeating.flatMap(([first]) => (first === undefined ? [] : [fullHost(first, domain)])))].sort();
});

function repeatsSubset(rules: readonly DestinationRuleObject[], byExport: boolean): boolean {
  const count = new Map(rules.map(({ namespace, name, spec }) => [`${namespace}/${name}`, spec.subsets.length]));
  return (
    rules.length > 1 &&
    consolidate(rules, byExport).some(
      ({ from, spec }) => from.reduce((sum, name) => sum + (count.get(name) ?? 0), 0) > spec.subsets.length,
    )
  );
}

function fullHost({ spec: { host }, namespace }: DestinationRuleObject, domain: string): string {
  return host.includes(".") || host.includes("*") ? host : `${host}.${namespace}.svc.${domain}`;
}
