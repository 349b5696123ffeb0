import { type DestinationRuleObject, destinationRules, hostBucket, hostBuckets } from "@istiod/config-schema";
import { backendPolicyRules } from "@istiod/gateway-api";
import { index, query, type QueryContext } from "@istiod/incremental";
import { features } from "../mesh/features.js";
import { mesh, rootNamespace } from "../mesh/mesh-config.js";
import { bySpecificity } from "../visibility/host-names.js";
import { byPrecedence, consolidate, type ConsolidatedRule, exportTargets, isPublic } from "./consolidated-rule.js";
import { isPartialWildcard, matchesHost, matchingPatterns } from "./host-pattern.js";

/**
 * Rules with a wildcard inside the first label, which cannot be found by stripping labels. They share one bucket
 * because hardly any mesh has one.
 */
const partialWildcards = index(destinationRules, "byPartialWildcard", ({ spec: { host } }) =>
  isPartialWildcard(host) ? ["*"] : [],
);

const byHost = index(destinationRules, "byHostBucket", (rule) => [hostBucket(rule.spec.host, rule.namespace)]);

/**
 * Rules of one namespace for a host. Those of the most specific host apply; those of less specific ones follow for
 * clients to which none of these applies, because of its workload selector or exportTo.
 */
interface NamespaceRules {
  /** For clients of the namespace itself. Only rules of the last host have no workload selector. */
  readonly local: readonly ConsolidatedRule[];
  /** For clients of other namespaces, before exportTo is evaluated, by host. */
  readonly exported: readonly (readonly ConsolidatedRule[])[];
  /** Rules of the root namespace that are visible only to its own clients, as in `local`. */
  readonly rootPrivate: readonly ConsolidatedRule[];
}

/** Rules of all namespaces for a host; the same for all clients. */
export const rulesByNamespace = query(
  "destinationRulesByNamespace",
  (q, host: string): Readonly<Record<string, NamespaceRules>> => {
    const byPattern = rulesByPattern(q, host);
    const namespaces = [...new Set(byPattern.flat().map((rule) => rule.namespace))].sort();
    if (namespaces.length === 0) return {};
    const root = rootNamespace(q);
    const privateByDefault = mesh(q).defaultDestinationRuleExportTo.includes(".");
    const byExport = features.enhancedDestinationRuleMerge(q);
    const pool = (
      namespace: string,
      isInPool: (rule: DestinationRuleObject) => boolean,
      appliesToAll: (rule: ConsolidatedRule) => boolean,
    ): readonly (readonly ConsolidatedRule[])[] => {
      const groups = byPattern
        .map((group) => group.filter((rule) => rule.namespace === namespace && isInPool(rule)))
        .filter((group) => group.length > 0)
        .map((group) => consolidate(group, byExport));
      const last = groups.findIndex((group) => group.some(appliesToAll));
      return last < 0 ? groups : groups.slice(0, last + 1);
    };
    return Object.fromEntries(
      namespaces.map((namespace) => [
        namespace,
        {
          local: pool(namespace, isLocal, selectsAll).flat(),
          exported: pool(namespace, (rule) => !isPrivate(rule, privateByDefault), isPublic),
          rootPrivate:
            namespace === root ? pool(namespace, (rule) => isPrivate(rule, privateByDefault), selectsAll).flat() : [],
        },
      ]),
    );
  },
);

/**
 * Returns all rules for a host, in all namespaces, those of more specific hosts first. Some stand for policies of the
 * Gateway API.
 */
export function rulesForHost(q: QueryContext, host: string): readonly DestinationRuleObject[] {
  return rulesByPattern(q, host).flat();
}

/**
 * Returns the rules for a host by their hosts, also those that stand for policies of the Gateway API, the most specific
 * first, in order of precedence.
 */
function rulesByPattern(q: QueryContext, host: string): readonly (readonly DestinationRuleObject[])[] {
  const domain = features.domainSuffix(q);
  const partial = q
    .read(partialWildcards, "*")
    .flatMap(({ spec }) => (spec.host !== host && matchesHost(spec.host, host) ? [spec.host] : []));
  const patterns =
    partial.length === 0
      ? matchingPatterns(host)
      : [...new Set([...matchingPatterns(host), ...partial])].sort(bySpecificityTo(host));
  return patterns.map((pattern) =>
    hostBuckets(pattern, domain)
      .flatMap((bucket) => q.read(byHost, bucket))
      .concat(q.call(backendPolicyRules, pattern))
      .sort(byPrecedence),
  );
}

/** Orders the host itself first, then longer patterns. */
function bySpecificityTo(host: string): (a: string, b: string) => number {
  return (a, b) => Number(b === host) - Number(a === host) || bySpecificity(a, b);
}

function selectsAll({ spec }: ConsolidatedRule): boolean {
  return spec.workloadSelector === undefined;
}

function isLocal(rule: DestinationRuleObject): boolean {
  const targets = exportTargets(rule);
  return (
    targets.length === 0 || targets.some((target) => target === "*" || target === "." || target === rule.namespace)
  );
}

function isPrivate(rule: DestinationRuleObject, privateByDefault: boolean): boolean {
  const targets = exportTargets(rule);
  if (targets.length === 0) return privateByDefault;
  return targets.length === 1 && (targets[0] === "." || targets[0] === rule.namespace);
}
