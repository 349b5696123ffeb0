import { type DestinationRuleObject, destinationRules } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { features } from "../mesh/features.js";
import { rootNamespace } from "../mesh/mesh-config.js";
import { resolveHost } from "../routing/short-names.js";
import { type ConsolidatedRule, isPublic } from "./consolidated-rule.js";
import { rulesByNamespace, rulesForHost } from "./namespace-rules.js";

/** The parts of a DestinationRule that do not apply, each with the rule that applies instead. */
export interface OverriddenParts {
  readonly trafficPolicy?: DestinationRuleObject;
  /** By the names of subsets. */
  readonly subsets: ReadonlyMap<string, DestinationRuleObject>;
}

/** Returns the parts of a rule that rules which are merged with it and precede it have already. */
export function partsDefinedBefore(
  earlier: readonly DestinationRuleObject[],
  { spec }: Pick<DestinationRuleObject, "spec">,
): OverriddenParts {
  const policy = spec.trafficPolicy && earlier.find((other) => other.spec.trafficPolicy !== undefined);
  const subsets = spec.subsets.flatMap(({ name }) => {
    const other = earlier.find((rule) => rule.spec.subsets.some((subset) => subset.name === name));
    return other === undefined ? [] : [[name, other] as const];
  });
  return { ...(policy && { trafficPolicy: policy }), subsets: new Map(subsets) };
}

/** The rules of a namespace and host that some client has, in one merge. */
type Merge = readonly DestinationRuleObject[];

/**
 * Returns the parts of a rule that apply to no client, because rules of the same namespace and host override them; or
 * the rule that applies to all its clients instead, if it does not apply at all. It follows from the same merges that
 * clusters are generated from, with their exportTo and workload selectors.
 */
export function overriddenParts(
  q: QueryContext,
  rule: DestinationRuleObject,
): OverriddenParts & { readonly all?: DestinationRuleObject } {
  const { namespace, spec } = rule;
  const host = resolveHost(spec.host, { namespace, domain: features.domainSuffix(q) });
  if (rulesForHost(q, host).length <= 1) return { subsets: new Map() };
  const found = q.call(rulesByNamespace, host)[namespace];
  if (found === undefined) return { subsets: new Map() };
  const own = namespace === rootNamespace(q) ? found.rootPrivate : found.local;
  const pools = [own, found.exported[0] ?? []].map((pool) => ({ pool, applying: applyingRules(pool, pool === own) }));
  const merges = pools.flatMap(({ applying }) => applying.map((merged) => objectsOf(q, merged)));
  const containing = merges.filter((merge) => merge.some((each) => isSame(each, rule)));
  if (containing.length > 0) return partsOverriddenInAll(containing, rule);
  const instead = pools
    .filter(({ pool }) => pool.some(({ from }) => from.includes(keyOf(rule))))
    .flatMap(({ applying }) => objectsOf(q, applying.at(-1)))[0];
  return { subsets: new Map(), ...(instead && { all: instead }) };
}

/**
 * Returns the rules of a pool that apply to some client: those with a workload selector, and of the others the last one
 * that is exported to the client.
 *
 * @param isOwn True if all clients are in the namespace of the rules.
 */
export function applyingRules(pool: readonly ConsolidatedRule[], isOwn: boolean): readonly ConsolidatedRule[] {
  const selecting = pool.filter(({ spec }) => spec.workloadSelector !== undefined);
  const general = pool.filter(({ spec }) => spec.workloadSelector === undefined);
  if (isOwn) return [...selecting, ...general.slice(-1)];
  return general.filter((rule, at) => {
    const later = general.slice(at + 1);
    if (later.some(isPublic)) return false;
    const covered = new Set(later.flatMap(({ exportTo }) => exportTo));
    return isPublic(rule) || rule.exportTo.some((target) => !covered.has(target));
  });
}

function partsOverriddenInAll(merges: readonly Merge[], rule: DestinationRuleObject): OverriddenParts {
  const [first, ...others] = merges.map((merge) =>
    partsDefinedBefore(
      merge.slice(
        0,
        merge.findIndex((each) => isSame(each, rule)),
      ),
      rule,
    ),
  );
  if (first === undefined) return { subsets: new Map() };
  const { trafficPolicy, subsets } = first;
  return {
    ...(trafficPolicy && others.every((other) => other.trafficPolicy !== undefined) && { trafficPolicy }),
    subsets: new Map([...subsets].filter(([name]) => others.every((other) => other.subsets.has(name)))),
  };
}

/** Returns the merged rules in order of precedence. */
function objectsOf(q: QueryContext, merged: ConsolidatedRule | undefined): Merge {
  return (merged?.from ?? []).flatMap((key) => q.read(destinationRules, key) ?? []);
}

function isSame(a: DestinationRuleObject, b: DestinationRuleObject): boolean {
  return a.namespace === b.namespace && a.name === b.name;
}

function keyOf({ namespace, name }: DestinationRuleObject): string {
  return `${namespace}/${name}`;
}
