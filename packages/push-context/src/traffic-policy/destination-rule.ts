import { type DestinationRuleObject, destinationRules, hostBucket, hostBuckets } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import type { Subset, TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features } from "../mesh/features.js";
import { mesh, rootNamespace } from "../mesh/mesh-config.js";
import { inNamespace, matchesLabels } from "../proxy/facts.js";
import { byPrecedence, consolidate, type ConsolidatedRule, exportTargets } from "./consolidated-rule.js";
import { portPolicy, subsetPolicy, findSubset, withMeshDefaults } from "./effective-policy.js";
import { bySpecificity } from "../visibility/host-names.js";
import { coversHost, isPartialWildcard, patternsCovering } from "./host-pattern.js";

/** A service whose rule is asked for. */
export interface Destination {
  readonly host: string;
  /** The namespace that declares the service; empty if there is none. */
  readonly serviceNamespace: string;
}

/** One port of a service or of its subset. */
export interface PolicyTarget extends Destination {
  readonly port: number;
  /** Absent or empty: the service itself. */
  readonly subset?: string;
}

/** The rule that applies to what the client sends to a service, or undefined. */
export const destinationRuleFor = query(
  "destinationRuleFor",
  (q, { host, serviceNamespace }: Destination) => outboundRule(q, candidates(q, host, serviceNamespace)),
  { key: destinationKey },
);

function destinationKey({ host, serviceNamespace }: Destination): string {
  return `${serviceNamespace}/${host}`;
}

/**
 * The rule that applies to what the client receives for a service that it implements: as for what it sends, but rules
 * that select workloads do not count.
 */
export const inboundDestinationRuleFor = query(
  "inboundDestinationRuleFor",
  (q, { host, serviceNamespace }: Destination) =>
    candidates(q, host, serviceNamespace).findLast((rule) => rule.spec.workloadSelector === undefined),
);

/**
 * The policy for what the client sends to a port: of the subset over that of the rule, and the mesh's defaults below.
 */
export const trafficPolicyFor = query(
  "trafficPolicyFor",
  (q, { host, serviceNamespace, port, subset = "" }: PolicyTarget): TrafficPolicy | undefined => {
    const rule = q.call(destinationRuleFor, { host, serviceNamespace })?.spec;
    const own = withMeshDefaults(mesh(q).defaultTrafficPolicy, portPolicy(rule?.trafficPolicy, port));
    return subset === "" ? own : subsetPolicy(own, findSubset(rule, subset)?.trafficPolicy, port);
  },
);

/** The subsets that the client knows of a service. */
export const subsetsOf = query(
  "subsetsOf",
  (q, destination: Destination): readonly Subset[] => q.call(destinationRuleFor, destination)?.spec.subsets ?? [],
);

/** Rules whose hosts cannot be found by cutting off labels: all in one bucket, since hardly any mesh has one. */
const partialWildcards = index(destinationRules, "byPartialWildcard", ({ spec: { host } }) =>
  isPartialWildcard(host) ? ["*"] : [],
);

const byHost = index(destinationRules, "byHostBucket", (rule) => [hostBucket(rule.spec.host, rule.namespace)]);

/** Hosts for which one namespace's rules declare a subset more than once, sorted. */
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

/** What one namespace has for a host: the most specific host with a rule counts, in each of three pools. */
interface NamespaceRules {
  /** For clients of the namespace itself. */
  readonly local: readonly ConsolidatedRule[];
  /** For clients of other namespaces, before exportTo is looked at. */
  readonly exported: readonly ConsolidatedRule[];
  /** Rules of the root namespace that only its own clients may use. */
  readonly rootPrivate: readonly ConsolidatedRule[];
}

/** Every namespace's rules for a host; the same for all clients. */
const rulesByNamespace = query(
  "destinationRulesByNamespace",
  (q, host: string): Readonly<Record<string, NamespaceRules>> => {
    const domain = features.domainSuffix(q);
    const partial = q
      .read(partialWildcards, "*")
      .flatMap(({ spec }) => (spec.host !== host && coversHost(spec.host, host) ? [spec.host] : []));
    const patterns =
      partial.length === 0
        ? patternsCovering(host)
        : [...new Set([...patternsCovering(host), ...partial])].sort(bySpecificityTo(host));
    const byPattern = patterns.map((pattern) =>
      hostBuckets(pattern, domain)
        .flatMap((bucket) => q.read(byHost, bucket))
        .sort(byPrecedence),
    );
    const namespaces = [...new Set(byPattern.flat().map((rule) => rule.namespace))].sort();
    if (namespaces.length === 0) return {};
    const root = rootNamespace(q);
    const privateByDefault = mesh(q).defaultDestinationRuleExportTo.includes(".");
    const byExport = features.enhancedDestinationRuleMerge(q);
    const pool = (
      namespace: string,
      belongs: (rule: DestinationRuleObject) => boolean,
    ): readonly ConsolidatedRule[] => {
      const rules = byPattern
        .map((group) => group.filter((rule) => rule.namespace === namespace && belongs(rule)))
        .find((group) => group.length > 0);
      return rules === undefined ? [] : consolidate(rules, byExport);
    };
    return Object.fromEntries(
      namespaces.map((namespace) => [
        namespace,
        {
          local: pool(namespace, isLocal),
          exported: pool(namespace, (rule) => !isPrivate(rule, privateByDefault)),
          rootPrivate: namespace === root ? pool(namespace, (rule) => isPrivate(rule, privateByDefault)) : [],
        },
      ]),
    );
  },
);

/** The host itself, then the longest pattern. */
function bySpecificityTo(host: string): (a: string, b: string) => number {
  return (a, b) => Number(b === host) - Number(a === host) || bySpecificity(a, b);
}

/**
 * The rules among which the client's is, in order: of its own namespace, else exported by the service's, else by the
 * root namespace. Source: pilot/pkg/model/push_context.go, destinationRule.
 */
function candidates(q: QueryContext, host: string, serviceNamespace: string): readonly ConsolidatedRule[] {
  const found = q.call(rulesByNamespace, host);
  const owners = Object.keys(found);
  if (owners.length === 0) return [];
  const root = rootNamespace(q);
  for (const owner of owners) {
    const own = owner === root ? found[owner]?.rootPrivate : found[owner]?.local;
    if (own === undefined || own.length === 0) continue;
    if (owner === serviceNamespace && owner !== root && sameForAll(own, found[owner]?.exported)) continue;
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

/** Whether clients of the rule's namespace find the same there as everyone else does. */
function sameForAll(local: readonly ConsolidatedRule[], exported: readonly ConsolidatedRule[] | undefined): boolean {
  const names = (rules: readonly ConsolidatedRule[]): string => JSON.stringify(rules.map((rule) => rule.from));
  return exported !== undefined && exported.every(isPublic) && names(local) === names(exported);
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

function isPublic(rule: ConsolidatedRule): boolean {
  return rule.exportTo.length === 0 || rule.exportTo.includes("*");
}

function isExportedToClient(q: QueryContext, rule: ConsolidatedRule): boolean {
  return (
    isPublic(rule) || rule.exportTo.some((target) => target !== "." && target !== "~" && q.ask(inNamespace, target))
  );
}
