import type { ApplicablePolicies, ApplicablePolicy } from "@istiod/push-context";
import type { Access } from "./access.js";
import { evaluateRule, type RuleVerdict } from "./rule.js";

export type PolicyAction = "CUSTOM" | "AUDIT" | "DENY" | "ALLOW";

/** The verdict on a policy that applies to the destination. */
export interface PolicyVerdict {
  readonly action: PolicyAction;
  readonly namespace: string;
  readonly name: string;
  /** Evaluated and reported, but not enforced. */
  readonly dryRun: boolean;
  /** The extension provider of a CUSTOM policy. */
  readonly provider?: string;
  readonly matches: boolean;
  readonly rules: readonly RuleVerdict[];
}

/** A rule of a policy that decides. */
export interface DecidingRule {
  readonly action: PolicyAction;
  readonly namespace: string;
  readonly name: string;
  readonly rule: number;
}

/** The decision of the AuthorizationPolicies. */
export type PolicyDecision =
  | { readonly outcome: "allow"; readonly by?: DecidingRule; readonly reason: string }
  | { readonly outcome: "deny"; readonly by?: DecidingRule; readonly reason: string }
  /** External providers decide; `then` is the decision if they all allow. */
  | {
      readonly outcome: "external";
      readonly providers: readonly string[];
      readonly by: DecidingRule;
      readonly reason: string;
      readonly then: PolicyDecision;
    };

export interface PolicyOptions {
  readonly trustDomains: readonly string[];
  /** Returns the effect of an extension provider on connections (`tcp`) or requests. */
  readonly provider: (name: string, tcp: boolean) => ProviderEffect;
  /** Returns the reason why a provider denies. */
  readonly problem?: (name: string) => string | undefined;
}

/** `denies`: the provider cannot be used, so matching requests are denied. `none`: it has no filter for TCP. */
export type ProviderEffect = "decides" | "denies" | "none";

export interface PoliciesVerdict {
  /** In evaluation order: CUSTOM, AUDIT, DENY, ALLOW, and in each by name as Envoy orders them. */
  readonly policies: readonly PolicyVerdict[];
  readonly decision: PolicyDecision;
  /** The decision if dry runs were enforced; undefined if no policy is a dry run. */
  readonly withDryRuns?: PolicyDecision;
}

/** Evaluates the policies that apply to a proxy. A CUSTOM policy is evaluated before the token is verified. */
export function evaluatePolicies(
  { custom, audit, deny, allow }: ApplicablePolicies,
  access: Access,
  options: PolicyOptions,
): PoliciesVerdict {
  const verdicts = (action: PolicyAction, list: readonly ApplicablePolicy[], seen: Access): readonly PolicyVerdict[] =>
    list.map((policy) => verdictOf(policy, action, seen, options)).sort(byName);
  const early = verdicts("CUSTOM", custom, { ...access, claims: undefined });
  const audited = verdicts("AUDIT", audit, access);
  const denying = verdicts("DENY", deny, access);
  const allowing = verdicts("ALLOW", allow, access);
  const policies = [...early, ...audited, ...denying, ...allowing];
  const decisionOf = (custom: typeof early, deny: typeof denying, allow: typeof allowing): PolicyDecision =>
    customDecision(custom, localDecision(deny, allow), access.http === undefined, options);
  return {
    policies,
    decision: decisionOf(enforced(early), enforced(denying), enforced(allowing)),
    ...(policies.some(({ dryRun }) => dryRun) && { withDryRuns: decisionOf(enforced(early), denying, allowing) }),
  };
}

function verdictOf(
  { namespace, name, dryRun, provider, rules }: ApplicablePolicy,
  action: PolicyAction,
  access: Access,
  { trustDomains }: PolicyOptions,
): PolicyVerdict {
  const options = { policyNamespace: namespace, trustDomains, allows: action === "ALLOW" };
  const verdicts = rules.map((rule, index) => evaluateRule(rule, index, access, options));
  return {
    action,
    namespace,
    name,
    dryRun,
    ...(provider !== "" && { provider }),
    matches: verdicts.some(({ matches }) => matches),
    rules: verdicts,
  };
}

function localDecision(denying: readonly PolicyVerdict[], allowing: readonly PolicyVerdict[]): PolicyDecision {
  const denied = firstRule(denying);
  if (denied !== undefined) return { outcome: "deny", by: denied, reason: "a DENY rule matches" };
  if (allowing.length === 0) {
    const reason = denying.length === 0 ? "no DENY or ALLOW policy applies" : "no DENY rule matches, no ALLOW applies";
    return { outcome: "allow", reason };
  }
  const allowed = firstRule(allowing);
  return allowed === undefined
    ? { outcome: "deny", reason: "ALLOW policies apply, and no rule of them matches" }
    : { outcome: "allow", by: allowed, reason: "an ALLOW rule matches, and no DENY rule does" };
}

function customDecision(
  custom: readonly PolicyVerdict[],
  after: PolicyDecision,
  tcp: boolean,
  { provider: effectOf, problem: problemOf }: PolicyOptions,
): PolicyDecision {
  const asked: string[] = [];
  let first: DecidingRule | undefined;
  for (const provider of [...new Set(custom.map((policy) => policy.provider ?? ""))].sort()) {
    const rule = firstRule(custom.filter((policy) => (policy.provider ?? "") === provider));
    const effect = effectOf(provider, tcp);
    if (rule === undefined || effect === "none") continue;
    if (effect === "denies") {
      const problem = problemOf?.(provider);
      const reason = `a CUSTOM rule matches, and its provider ${JSON.stringify(provider)} cannot be used${problem === undefined ? "" : `: ${problem}`}`;
      const denied: PolicyDecision = { outcome: "deny", by: rule, reason };
      return first === undefined ? denied : external(asked, first, denied);
    }
    asked.push(provider);
    first ??= rule;
  }
  return first === undefined ? after : external(asked, first, after);
}

function external(providers: readonly string[], by: DecidingRule, then: PolicyDecision): PolicyDecision {
  return {
    outcome: "external",
    providers,
    by,
    reason: `a CUSTOM rule matches, so ${providers.join(", ")} decides`,
    then,
  };
}

function enforced(policies: readonly PolicyVerdict[]): readonly PolicyVerdict[] {
  return policies.filter(({ dryRun }) => !dryRun);
}

/** Returns the rule that Envoy reports: the first that matches, by the name of its RBAC policy. */
function firstRule(policies: readonly PolicyVerdict[]): DecidingRule | undefined {
  return policies
    .flatMap(({ action, namespace, name, rules }) =>
      rules.flatMap(({ index, matches }) => (matches ? [{ action, namespace, name, rule: index }] : [])),
    )
    .sort((a, b) => compareBytes(ruleName(a), ruleName(b)))[0];
}

/** Returns the name of the RBAC policy that a rule becomes, which Envoy logs. */
export function ruleName({ namespace, name, rule }: Omit<DecidingRule, "action">): string {
  return `ns[${namespace}]-policy[${name}]-rule[${rule}]`;
}

function byName(a: PolicyVerdict, b: PolicyVerdict): number {
  return compareBytes(ruleName({ ...a, rule: 0 }), ruleName({ ...b, rule: 0 }));
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
