import type { Check, Decision } from "./check.js";
import type { DecidingRule, PolicyDecision, PolicyVerdict } from "./evaluation/policies.js";
import type { ConditionVerdict, RuleVerdict } from "./evaluation/rule.js";

/** Formats checks as text for people. */
export function formatChecks(checks: readonly Check[]): string {
  return checks.map((each) => `${linesOf(each).join("\n")}\n`).join("\n");
}

function linesOf(check: Check): readonly string[] {
  const { decision, from, to, mutualTls, request, token, policies, withDryRuns, notApplying, notes } = check;
  const service = to.service === undefined ? "" : `, service ${to.service.hostname}:${to.service.port}`;
  const mode = mutualTls.mode === undefined ? "" : `${mutualTls.mode}, `;
  return [
    `${verdictOf(decision)}: ${decision.reason}`,
    ...("by" in decision && decision.by !== undefined ? [`  decided by: ${ruleOf(decision.by)}`] : []),
    ...(decision.outcome === "external"
      ? [`  if it allows: ${verdictOf(decision.then)}: ${decision.then.reason}`]
      : []),
    `from: ${from.name}${from.principal === undefined || from.principal === from.name ? "" : `, ${from.principal}`}`,
    `to: ${to.workload}, port ${to.port} (${to.protocol})${service}`,
    `mutual TLS: ${mode}${mutualTls.connection}${mutualTls.accepted ? "" : ", refused"}: ${mutualTls.reason}`,
    ...(request === undefined ? [] : [requestLine(request)]),
    ...(token.state === "none" ? [] : [`token: ${token.state}${"reason" in token ? `: ${token.reason}` : ""}`]),
    policies.length === 0 ? "no policy applies" : "policies that apply, in evaluation order:",
    ...policies.flatMap(policyLines),
    ...(withDryRuns === undefined ? [] : [dryRunLine(decision, withDryRuns)]),
    ...(notApplying.length === 0 ? [] : ["policies that do not apply:"]),
    ...notApplying.map(({ action, namespace, name, reason }) => `  ${action} ${namespace}/${name}: ${reason}`),
    ...notes.map((note) => `note: ${note}`),
  ];
}

/** Describes the effect that enforcing the dry runs would have, if external providers allow. */
function dryRunLine(decision: Decision, withDryRuns: PolicyDecision): string {
  const [before, after] = [finalDecision(decision), finalDecision(withDryRuns)];
  if (before.outcome === after.outcome) return "dry runs: enforcing them would not change the decision";
  const by = after.by === undefined ? "" : `, decided by ${ruleOf(after.by)}`;
  return `dry runs: if they were enforced: ${verdictOf(after)}: ${after.reason}${by}`;
}

interface FinalDecision {
  readonly outcome: "allow" | "deny";
  readonly reason: string;
  readonly by?: DecidingRule;
}

function finalDecision(decision: Decision | PolicyDecision): FinalDecision {
  return decision.outcome === "external" ? finalDecision(decision.then) : decision;
}

function verdictOf({ outcome, ...rest }: { readonly outcome: Decision["outcome"]; readonly status?: number }): string {
  const status = rest.status === undefined ? "" : ` (${rest.status})`;
  return { allow: "ALLOWED", deny: "DENIED", external: "DECIDED ELSEWHERE" }[outcome] + status;
}

function ruleOf({ action, namespace, name, rule }: DecidingRule): string {
  return `${action} AuthorizationPolicy ${namespace}/${name} rules[${rule}]`;
}

function requestLine({
  method,
  path,
  normalizedPath,
  normalization,
  authority,
}: NonNullable<Check["request"]>): string {
  const seen = normalizedPath === undefined || normalizedPath === path ? "" : `, seen as ${normalizedPath}`;
  return `request: ${method} ${path} of ${authority}${seen} (pathNormalization ${normalization})`;
}

function policyLines({ action, namespace, name, dryRun, provider, matches, rules }: PolicyVerdict): readonly string[] {
  const details = [...(dryRun ? ["dry run"] : []), ...(provider === undefined ? [] : [`provider ${provider}`])];
  const title = `${action} ${namespace}/${name}${details.length === 0 ? "" : ` (${details.join(", ")})`}`;
  if (rules.length === 0) return [`  ${title}: has no rules and matches nothing`];
  return [`  ${title}: ${matches ? "matches" : "does not match"}`, ...rules.flatMap(ruleLines)];
}

function ruleLines({ index, matches, never, conditions }: RuleVerdict): readonly string[] {
  const verdict = never === undefined ? (matches ? "matches" : "does not match") : `never matches: ${never}`;
  const all = conditions.length === 0 && never === undefined ? ", since it has no conditions" : "";
  return [`    rules[${index}] ${verdict}${all}`, ...conditions.map(conditionLine)];
}

function conditionLine({ field, key, values, holds, actual, unusable }: ConditionVerdict): string {
  const name = key === undefined ? field : `${field} of ${key}`;
  const why = unusable === undefined ? actual : `${actual} (${holds ? "ignored: " : ""}${unusable})`;
  return `      ${holds ? "yes" : "no "} ${name} [${values.join(", ")}]: ${why}`;
}
