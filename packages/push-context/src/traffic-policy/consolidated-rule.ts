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

/** One DestinationRule, or several of one namespace for the same host as one. */
export interface ConsolidatedRule {
  /** The namespace of all of them. */
  readonly namespace: string;
  /** The name of the first, by which it is reported in metadata. */
  readonly name: string;
  readonly spec: DestinationRule;
  /** Who may use it; empty: the mesh's default. A rule with a workload selector is its own namespace's only. */
  readonly exportTo: readonly string[];
  /** `namespace/name` of each that was merged, in the order of precedence. */
  readonly from: readonly string[];
  /** Made from a backend policy of the Gateway API, so that fields of a user's rule win whatever their ages. */
  readonly fromBackendPolicy: boolean;
}

/** Rules synthesized from the Gateway API carry this annotation, which users cannot set. */
const backendPolicyAnnotation = "internal.istio.io/parents";

/** First those with a workload selector, then by age, name and namespace. */
export function byPrecedence(a: DestinationRuleObject, b: DestinationRuleObject): number {
  const selecting = Number(b.spec.workloadSelector !== undefined) - Number(a.spec.workloadSelector !== undefined);
  return (
    selecting ||
    a.creationTimestamp - b.creationTimestamp ||
    compare(a.name, b.name) ||
    compare(a.namespace, b.namespace)
  );
}

/** The namespaces that a rule is declared for; a rule that selects workloads stays in its own. */
export function exportTargets(rule: DestinationRuleObject): readonly string[] {
  return rule.spec.workloadSelector === undefined ? [...new Set(rule.spec.exportTo)].sort(compare) : ["."];
}

/**
 * Merges the rules of one namespace for one host, given in the order of precedence: subsets are united (the first of a
 * name counts), and the first traffic policy stands. Rules with different workload selectors stay apart. With
 * `byExport` so do rules whose exportTo differ, unless the later one names all that the earlier one does. Source:
 * pilot/pkg/model/destination_rule.go.
 */
export function consolidate(rules: readonly DestinationRuleObject[], byExport: boolean): readonly ConsolidatedRule[] {
  const out: ConsolidatedRule[] = [];
  for (const rule of rules) {
    const incoming = single(rule);
    let separate = true;
    out.forEach((existing, i) => {
      if (byExport) {
        const same = sameSet(existing.exportTo, incoming.exportTo);
        const wider =
          existing.exportTo.length > 0 && existing.exportTo.every((target) => incoming.exportTo.includes(target));
        separate = !same;
        if (!same && !wider) return;
      }
      const selectors = [existing.spec.workloadSelector, incoming.spec.workloadSelector] as const;
      const both = selectors[0] !== undefined && selectors[1] !== undefined;
      const neither = selectors[0] === undefined && selectors[1] === undefined;
      const equal = sameLabels(selectors[0]?.matchLabels, selectors[1]?.matchLabels);
      if (both && !equal) {
        separate = true;
        return;
      }
      if (neither || both) separate = false;
      out[i] = merged(existing, incoming);
    });
    if (separate) out.push(incoming);
  }
  return out;
}

function single(rule: DestinationRuleObject): ConsolidatedRule {
  return {
    namespace: rule.namespace,
    name: rule.name,
    spec: rule.spec,
    exportTo: exportTargets(rule),
    from: [`${rule.namespace}/${rule.name}`],
    fromBackendPolicy: rule.annotations[backendPolicyAnnotation] !== undefined,
  };
}

function merged(existing: ConsolidatedRule, incoming: ConsolidatedRule): ConsolidatedRule {
  const names = new Set(existing.spec.subsets.map((subset) => subset.name));
  const { $typeName: _, $unknown: __, ...fields } = existing.spec;
  const trafficPolicy = mergedPolicy(existing, incoming);
  const spec = create(DestinationRuleSchema, {
    ...fields,
    subsets: [...existing.spec.subsets, ...incoming.spec.subsets.filter((subset) => !names.has(subset.name))],
    ...(trafficPolicy && { trafficPolicy }),
  });
  return { ...existing, spec, from: [...existing.from, ...incoming.from] };
}

function mergedPolicy(existing: ConsolidatedRule, incoming: ConsolidatedRule): TrafficPolicy | undefined {
  const [first, second] = [existing.spec.trafficPolicy, incoming.spec.trafficPolicy];
  if (existing.fromBackendPolicy === incoming.fromBackendPolicy) return first ?? second;
  return incoming.fromBackendPolicy ? filledFrom(first, second) : filledFrom(second, first);
}

/** A user's policy whose gaps a backend policy fills. */
function filledFrom(user: TrafficPolicy | undefined, backend: TrafficPolicy | undefined): TrafficPolicy | undefined {
  if (user === undefined || backend === undefined) return user ?? backend;
  const out = overlayPolicy(backend, user);
  out.portLevelSettings = filledPorts(user.portLevelSettings, backend.portLevelSettings);
  return out;
}

function filledPorts(
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
