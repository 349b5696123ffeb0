import {
  destinationRulesByHost,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { query, type QueryContext } from "@istiod/incremental";
import { features, isWildcard, resolveHost, rulesDefiningSubset } from "@istiod/push-context";
import { aliasedHost } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { kubernetesName } from "../../queries/destination-hosts.js";
import { listNames, quotedNearest } from "../../suggestions.js";
import { routeDestinations } from "./destinations.js";

export const subsetAnalyzer: Analyzer = {
  name: "virtualservice.DestinationRuleAnalyzer",
  description: "Checks that the subsets to which VirtualServices route are defined by DestinationRules",
  codes: ["IST0101"],
  rules: [rule(virtualServiceKind, virtualServices, checkSubsets)],
};

function checkSubsets({ namespace, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  for (const { host, subset, mirror, path } of routeDestinations(spec)) {
    if (subset === "") continue;
    const aliased = q.call(aliasedHost, resolveHost(host, { namespace, domain: features.domainSuffix(q) }));
    const subsets = q.call(subsetsOf, { host: aliased ?? host, namespace });
    if (subsets?.includes(subset) === true || isDefinedForPattern(q, aliased ?? host, namespace, subset)) continue;
    const what = `${mirror ? "mirror" : "host"}+subset in destinationrule ${JSON.stringify(`${host}+${subset}`)}`;
    report(
      "IST0101",
      [...path, "subset"],
      `referenced ${what} not found: ${explain(aliased ?? host, subset, subsets)}`,
    );
  }
}

/** Reports whether a rule whose host is a wildcard defines a subset of a host. */
function isDefinedForPattern(q: QueryContext, host: string, namespace: string, subset: string): boolean {
  const resolved = resolveHost(host, { namespace, domain: features.domainSuffix(q) });
  return rulesDefiningSubset(q, resolved, subset).some(({ spec }) => isWildcard(spec.host));
}

function explain(host: string, subset: string, subsets: readonly string[] | undefined): string {
  if (subsets === undefined)
    return `no DestinationRule is for host ${JSON.stringify(host)}; create one that defines the subset`;
  if (subsets.length === 0) return "the DestinationRule of the host defines no subsets";
  return `the DestinationRules of the host define ${listNames(subsets)}${quotedNearest(nearestNames(subset, subsets))}`;
}

/**
 * The names of the subsets that DestinationRules define for a host; undefined if there is no DestinationRule. Rules of
 * all namespaces apply to a Kubernetes service; only rules of the referencing namespace apply to other hosts.
 */
const subsetsOf = query(
  "subsetsOfHost",
  (q, at: { readonly host: string; readonly namespace: string }): readonly string[] | undefined => {
    const domain = features.domainSuffix(q);
    const named = (host: string, namespace: string): { readonly name: string; readonly namespace: string } =>
      kubernetesName(host, domain) ?? { name: host, namespace };
    const { name, namespace } = named(at.host, at.namespace);
    const buckets = new Set([`${namespace}/${name}`, name, `${name}.${namespace}.svc.${domain}`]);
    const rules = [...buckets].flatMap((bucket) => q.read(destinationRulesByHost, bucket));
    const found = rules.filter((rule) => {
      const own = named(rule.spec.host, rule.namespace);
      return own.name === name && own.namespace === namespace;
    });
    return found.length === 0
      ? undefined
      : [...new Set(found.flatMap(({ spec }) => spec.subsets.map((subset) => subset.name)))];
  },
);
