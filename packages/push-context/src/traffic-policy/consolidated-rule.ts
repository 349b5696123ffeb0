import { create } from "@bufbuild/protobuf";
import type { DestinationRuleObject } from "@istiod/config-schema";
import {
  type DestinationRule,
  DestinationRuleSchema,
  type TrafficPolicy,
  type TrafficPolicy_PortTrafficPolicy,
  TrafficPolicy_PortTrafficPolicySchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { overlayPolicy } from "./effective-policy.js";

/** A DestinationRule, or several of one namespace for the same host, merged. */
export interface ConsolidatedRule {
  /** Namespace of all merged rules. */
  readonly namespace: string;
  /** Name of the first rule, which is reported in metadata. */
  readonly name: string;
  readonly spec: DestinationRule;
  /**
   * Namespaces it is exported to; empty for the mesh's default. A rule with a workload selector is visible only in its
   * own namespace.
   */
  readonly exportTo: readonly string[];
  /** `namespace/name` of the merged rules, in order of precedence. */
  readonly from: readonly string[];
  /** Generated from a backend policy of the Gateway API. Fields of a user's rule take precedence regardless of age. */
  readonly fromBackendPolicy: boolean;
}

/** Annotation of rules generated from the Gateway API. Users cannot set it. */
const backendPolicyAnnotation = "internal.istio.io/parents";

/** Orders rules with a workload selector first, then by age, name and namespace. */
export function byPrecedence(a: DestinationRuleObject, b: DestinationRuleObject): number {
  const selecting = Number(b.spec.workloadSelector !== undefined) - Number(a.spec.workloadSelector !== undefined);
  return (
    selecting ||
    a.creationTimestamp - b.creationTimestamp ||
    compare(a.name, b.name) ||
    compare(a.namespace, b.namespace)
  );
}

/** Returns the namespaces that a rule is exported to; a rule with a workload selector applies only in its own. */
export function exportTargets(rule: DestinationRuleObject): readonly string[] {
  return rule.spec.workloadSelector === undefined ? [...new Set(rule.spec.exportTo)].sort(compare) : ["."];
}

/** Reports whether a rule is exported to all namespaces. */
export function isPublic({ exportTo }: Pick<ConsolidatedRule, "exportTo">): boolean {
  return exportTo.length === 0 || exportTo.includes("*");
}

/**
 * Merges the rules of one namespace for one host, given in order of precedence: subsets are united (the first one with
 * a name is used), and the first traffic policy is used. Rules with different workload selectors are not merged. A rule
 * without a selector is merged into those with one, and applies by itself to all other clients. With `byExport`, rules
 * with different exportTo are not merged; if the later one includes all namespaces of the earlier one, it is merged
 * into it, and applies by itself to the other namespaces. Source: pilot/pkg/model/destination_rule.go.
 */
export function consolidate(rules: readonly DestinationRuleObject[], byExport: boolean): readonly ConsolidatedRule[] {
  const out: ConsolidatedRule[] = [];
  for (const rule of rules) {
    const incoming = toConsolidated(rule);
    const relations = out.map((existing) => relationOf(existing, incoming, byExport));
    for (const [i, existing] of out.entries()) {
      if (relations[i] !== "separate") out[i] = mergeRules(existing, incoming);
    }
    if (relations.includes("absorbed")) continue;
    // The last rule that is exported to a client applies, so the merged ones stay behind.
    const merged = relations.indexOf("wider");
    out.splice(merged < 0 ? out.length : merged, 0, incoming);
  }
  return out;
}

/**
 * `absorbed`: the existing rule applies to all clients of the incoming one; `wider`: only to those in some of its
 * namespaces; `selecting`: only to those that its workload selector selects. In these cases they are merged.
 */
type Relation = "absorbed" | "wider" | "selecting" | "separate";

function relationOf(existing: ConsolidatedRule, incoming: ConsolidatedRule, byExport: boolean): Relation {
  const selectors = [existing.spec.workloadSelector, incoming.spec.workloadSelector] as const;
  const both = selectors[0] !== undefined && selectors[1] !== undefined;
  if (both && !sameLabels(selectors[0]?.matchLabels, selectors[1]?.matchLabels)) return "separate";
  const same = !byExport || sameSet(existing.exportTo, incoming.exportTo);
  const includes = existing.exportTo.length > 0 && existing.exportTo.every((to) => incoming.exportTo.includes(to));
  if (!same && !includes) return "separate";
  if (selectors[0] !== undefined && selectors[1] === undefined) return "selecting";
  return same ? "absorbed" : "wider";
}

function toConsolidated(rule: DestinationRuleObject): ConsolidatedRule {
  return {
    namespace: rule.namespace,
    name: rule.name,
    spec: rule.spec,
    exportTo: exportTargets(rule),
    from: [`${rule.namespace}/${rule.name}`],
    fromBackendPolicy: rule.annotations[backendPolicyAnnotation] !== undefined,
  };
}

function mergeRules(existing: ConsolidatedRule, incoming: ConsolidatedRule): ConsolidatedRule {
  const names = new Set(existing.spec.subsets.map((subset) => subset.name));
  const { $typeName: _, $unknown: __, ...fields } = existing.spec;
  const trafficPolicy = mergePolicies(existing, incoming);
  const spec = create(DestinationRuleSchema, {
    ...fields,
    subsets: [...existing.spec.subsets, ...incoming.spec.subsets.filter((subset) => !names.has(subset.name))],
    ...(trafficPolicy && { trafficPolicy }),
  });
  return { ...existing, spec, from: [...existing.from, ...incoming.from] };
}

function mergePolicies(existing: ConsolidatedRule, incoming: ConsolidatedRule): TrafficPolicy | undefined {
  const [first, second] = [existing.spec.trafficPolicy, incoming.spec.trafficPolicy];
  if (existing.fromBackendPolicy === incoming.fromBackendPolicy) return first ?? second;
  return incoming.fromBackendPolicy ? fillPolicy(first, second) : fillPolicy(second, first);
}

/** Returns a user's policy with unset fields filled from a backend policy. */
function fillPolicy(user: TrafficPolicy | undefined, backend: TrafficPolicy | undefined): TrafficPolicy | undefined {
  if (user === undefined || backend === undefined) return user ?? backend;
  const out = overlayPolicy(backend, user);
  out.portLevelSettings = fillPortSettings(user.portLevelSettings, backend.portLevelSettings);
  return out;
}

function fillPortSettings(
  user: readonly TrafficPolicy_PortTrafficPolicy[],
  backend: readonly TrafficPolicy_PortTrafficPolicy[],
): TrafficPolicy_PortTrafficPolicy[] {
  const filled = user.map((own) => {
    const other = backend.find((settings) => settings.port?.number === own.port?.number);
    if (other === undefined) return own;
    const { $typeName: _, $unknown: __, ...fields } = own;
    const { $typeName: ___, $unknown: ____, ...gaps } = other;
    return create(TrafficPolicy_PortTrafficPolicySchema, { ...gaps, ...withoutUndefined(fields) });
  });
  const ports = new Set(user.map((own) => own.port?.number));
  return [...filled, ...backend.filter((settings) => !ports.has(settings.port?.number))];
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as T;
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item) => b.includes(item));
}

function sameLabels(a: Readonly<Record<string, string>> = {}, b: Readonly<Record<string, string>> = {}): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
