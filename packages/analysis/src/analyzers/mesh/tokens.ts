import {
  authorizationPolicies,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  type FieldPath,
} from "@istiod/config-schema";
import {
  AuthorizationPolicy_Action as Action,
  type Rule,
} from "@istiod/istio-api/security/v1beta1/authorization_policy";
import type { QueryContext } from "@istiod/incremental";
import { matchesStringPattern, requestPrincipalPattern } from "@istiod/push-context";
import { listNames } from "../../suggestions.js";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { formatSelector, type PodProfile } from "../../queries/pods.js";
import {
  hasRequestAuthentication,
  requestAuthenticationsOf,
  workloadsOfPolicy,
} from "../../queries/policy-workloads.js";

export const tokenAnalyzer: Analyzer = {
  name: "mesh.TokenAnalyzer",
  description: "Checks that a RequestAuthentication verifies the tokens that AuthorizationPolicies require",
  codes: ["MESH0014", "MESH0045"],
  rules: [rule(authorizationPolicyKind, authorizationPolicies, checkPolicy)],
};

interface TokenCondition {
  readonly name: string;
  readonly path: FieldPath;
  /** The condition holds without a token: it only excludes values. */
  readonly isNegated: boolean;
}

function checkPolicy({ namespace, spec }: AuthorizationPolicyObject, { q, report }: AnalysisContext): void {
  const conditions = spec.rules.flatMap((each, i) => tokenConditions(each, ["spec", "rules", i]));
  if (conditions.length === 0) return;
  const pods = workloadsOfPolicy(q, { ...spec, namespace });
  const open = pods.find((pod) => !hasRequestAuthentication(q, pod));
  if (open === undefined) {
    checkIssuers(spec.rules, issuersOf(q, pods), report);
    return;
  }
  const labels = formatSelector(open.labels);
  const workloads = `namespace ${open.namespace}${labels === "" ? "" : ` (${labels})`}`;
  for (const { name, path, isNegated } of conditions)
    report(
      "MESH0045",
      path,
      `${name} needs a token that was verified, and no RequestAuthentication applies to workloads of ${workloads}: ${consequence(spec.action, isNegated)}; add a RequestAuthentication for them`,
    );
}

/** Returns the issuers whose tokens some workloads accept; undefined if they are not known. */
function issuersOf(q: QueryContext, pods: readonly PodProfile[]): readonly string[] | undefined {
  const rules = pods.flatMap((pod) => requestAuthenticationsOf(q, pod).flatMap(({ spec }) => spec.jwtRules));
  const issuers = [...new Set(rules.map(({ issuer }) => issuer))].sort();
  return issuers.length === 0 || issuers.includes("") ? undefined : issuers;
}

/** Reports principals and issuers that no accepted token has. */
function checkIssuers(
  rules: readonly Rule[],
  issuers: readonly string[] | undefined,
  report: AnalysisContext["report"],
): void {
  if (issuers === undefined) return;
  const known = `the workloads accept tokens of ${listNames(issuers)}`;
  const checkPrincipals = (values: readonly string[], path: FieldPath): void => {
    for (const [i, value] of values.entries())
      if (!issuers.some((issuer) => mayBePrincipalOf(value, issuer)))
        report(
          "MESH0014",
          [...path, i],
          `is ${JSON.stringify(value)}, which no token has: principals are ISSUER/SUBJECT, and ${known}; write ${JSON.stringify(`${issuers[0] ?? ""}/*`)} for all of an issuer`,
        );
  };
  for (const [i, { from, when }] of rules.entries()) {
    for (const [j, { source }] of from.entries())
      checkPrincipals(source?.requestPrincipals ?? [], ["spec", "rules", i, "from", j, "source", "requestPrincipals"]);
    for (const [j, { key, values }] of when.entries()) {
      const path = ["spec", "rules", i, "when", j, "values"];
      if (key === "request.auth.principal") checkPrincipals(values, path);
      if (key !== "request.auth.claims[iss]") continue;
      for (const [k, value] of values.entries())
        if (!value.includes("*") && !issuers.includes(value))
          report("MESH0014", [...path, k], `is ${JSON.stringify(value)}, which no token has: ${known}`);
    }
  }
}

/** Reports whether a value of `requestPrincipals` matches a token of an issuer, which has a subject. */
function mayBePrincipalOf(value: string, issuer: string): boolean {
  const pattern = requestPrincipalPattern(value);
  const needsSubject = pattern.subject.type !== "exact" || pattern.subject.value !== "";
  return needsSubject && matchesStringPattern(pattern.issuer, issuer);
}

function consequence(action: Action, isNegated: boolean): string {
  if (isNegated)
    return action === Action.ALLOW
      ? "the condition holds for every request, with or without a token"
      : action === Action.DENY
        ? "the condition holds for every request, so that requests with a valid token are denied, too"
        : "the condition holds for every request";
  if (action === Action.ALLOW)
    return "the rule allows no request, so that requests that no other rule allows are denied";
  return action === Action.DENY ? "the rule denies no request" : "the rule matches no request";
}

const negatable = [
  ["requestPrincipals", false],
  ["notRequestPrincipals", true],
] as const;

function tokenConditions({ from, when }: Rule, path: FieldPath): readonly TokenCondition[] {
  return [
    ...from.flatMap(({ source }, i) =>
      negatable
        .filter(([field]) => (source?.[field].length ?? 0) > 0)
        .map(([name, isNegated]) => ({ name, path: [...path, "from", i, "source", name], isNegated })),
    ),
    ...when.flatMap(({ key, values }, i) =>
      key.startsWith("request.auth.")
        ? [{ name: key, path: [...path, "when", i, "key"], isNegated: values.length === 0 }]
        : [],
    ),
  ];
}
