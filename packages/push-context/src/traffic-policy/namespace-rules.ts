import {
  type DestinationRuleObject,
  destinationRules,
  destinationRulesByHost,
  hostBuckets,
} from "@istiod/config-schema";
import { backendPolicyRules, hasBackendPolicies } from "@istiod/gateway-api";
import { index, query, type QueryContext } from "@istiod/incremental";
import { features } from "../mesh/features.js";
import { mesh, rootNamespace } from "../mesh/mesh-config.js";
import { bySpecificity } from "../visibility/host-names.js";
import { byPrecedence, consolidate, type ConsolidatedRule, exportTargets, isPublic } from "./consolidated-rule.js";
import { isPartialWildcard, isWildcard, matchesHost, matchingPatterns } from "./host-pattern.js";

/**
 * Rules with a wildcard as host: `any`, and `partial` if it is inside the first label, so that they cannot be found by
 * stripping labels. There are few of them.
 */
const wildcards = index(destinationRules, "byWildcard", ({ spec: { host } }) =>
  isPartialWildcard(host) ? ["any", "partial"] : isWildcard(host) ? ["any"] : [],
);

/** Reports whether any rule has a wildcard as host. If none has, rules are only searched by the whole host. */
const hasWildcards = query("hasWildcardDestinationRules", (q) => q.members(wildcards, "any").length > 0);

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
    const privateByDefault = isPrivateByDefault(q);
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

/** Reports whether rules without `exportTo` are visible only in their own namespace. */
export function isPrivateByDefault(q: QueryContext): boolean {
  return mesh(q).defaultDestinationRuleExportTo.includes(".");
}

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
  const hasPolicies = q.call(hasBackendPolicies);
  const patterns = hasPolicies || q.call(hasWildcards) ? patternsOf(q, host) : [host];
  return patterns.map((pattern) =>
    hostBuckets(pattern, domain)
      .flatMap((bucket) => q.read(destinationRulesByHost, bucket))
      .concat(hasPolicies ? q.call(backendPolicyRules, pattern) : [])
      .sort(byPrecedence),
  );
}

/** Returns the hosts of rules that may apply to a host, the most specific first. */
function patternsOf(q: QueryContext, host: string): readonly string[] {
  const all = matchingPatterns(host);
  const partial = q
    .read(wildcards, "partial")
    .flatMap(({ spec }) => (spec.host !== host && matchesHost(spec.host, host) ? [spec.host] : []));
  return partial.length === 0 ? all : [...new Set([...all, ...partial])].sort(bySpecificityTo(host));
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
