import {
  authorizationPolicies,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  type FieldPath,
  namespaces,
} from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { query } from "@istiod/incremental";
import { rootNamespace } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
import { quotedNearest } from "../suggestions.js";
import { explainMissingPods, formatSelector, isAnyPodInMesh, selectedPods } from "../queries/pods.js";

/** Analyzers of AuthorizationPolicies. */
export const authorizationPolicyAnalyzers: readonly Analyzer[] = [
  {
    name: "auth.AuthorizationPoliciesAnalyzer",
    description: "Checks that AuthorizationPolicies have workloads, and that the namespaces of their sources exist",
    codes: ["IST0101", "IST0127"],
    rules: [
      rule(authorizationPolicyKind, authorizationPolicies, checkWorkloads),
      rule(authorizationPolicyKind, authorizationPolicies, checkNamespaces),
    ],
  },
];

function checkWorkloads({ namespace, spec }: AuthorizationPolicyObject, { q, report }: AnalysisContext): void {
  const meshWide = namespace === rootNamespace(q);
  if (meshWide && spec.selector === undefined) return;
  const labels = spec.selector?.matchLabels ?? {};
  const selector = { ...(!meshWide && { namespace }), labels };
  if (q.call(isAnyPodInMesh, selector)) return;
  const outside = q.call(selectedPods, selector).length > 0;
  const why = outside
    ? "the selected pods are not in the mesh: they have no sidecar and are not in ambient mode"
    : explainMissingPods(q, selector);
  const what =
    spec.selector === undefined
      ? `in namespace ${namespace}`
      : `with the labels ${JSON.stringify(formatSelector(labels))}`;
  report(
    "IST0127",
    spec.selector === undefined ? [] : ["spec", "selector", "matchLabels"],
    `no matching workloads ${what}, so the policy has no effect: ${why}`,
  );
}

function checkNamespaces({ spec }: AuthorizationPolicyObject, { q, report }: AnalysisContext): void {
  const check = (patterns: readonly string[], path: FieldPath): void => {
    for (const [i, pattern] of patterns.entries()) {
      if (q.call(isAnyNamespace, pattern)) continue;
      report(
        "IST0101",
        [...path, i],
        `referenced namespace ${JSON.stringify(pattern)} not found${quotedNearest(nearestNames(pattern, q.call(namespaceNames)))}`,
      );
    }
  };
  for (const [i, { from }] of spec.rules.entries()) {
    for (const [j, { source }] of from.entries()) {
      const path = ["spec", "rules", i, "from", j, "source"];
      check(source?.namespaces ?? [], [...path, "namespaces"]);
      check(source?.notNamespaces ?? [], [...path, "notNamespaces"]);
    }
  }
}

const namespaceNames = query("namespaceNames", (q): readonly string[] => [
  ...new Set(q.keys(namespaces).map((key) => key.slice(key.indexOf("/") + 1))),
]);

/**
 * Reports whether a source's pattern matches an existing namespace. The pattern is a case-insensitive name, or has `*`
 * as prefix or suffix.
 */
const isAnyNamespace = query("isAnyNamespace", (q, pattern: string): boolean => {
  const names = q.call(namespaceNames);
  if (pattern.startsWith("*")) return names.some((name) => name.endsWith(pattern.slice(1)));
  if (pattern.endsWith("*")) return names.some((name) => name.startsWith(pattern.slice(0, -1)));
  return names.some((name) => name.toLowerCase() === pattern.toLowerCase());
});
